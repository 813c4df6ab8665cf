"""Hot rules are plain functions over NumPy arrays; this is the one place that decides to compile them.

A function is run as plain Python until compiling it is worth the wait: for `AT_ONCE` seconds, and if no earlier run has
left the compiled function on disk, for `PATIENCE` seconds. So a short run does not even import the compiler, and a long
one soon has compiled rules. Both ways give the same results, bit by bit: time decides only how fast.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import sys
import time
from collections.abc import Callable
from functools import cached_property, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])

COMPILED = os.environ.get("EMCOOP_COMPILE", "1") != "0" and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""``EMCOOP_COMPILE=0`` runs every rule uncompiled: for debugging, and where Numba is not wanted. So does Numba's own
switch, ``NUMBA_DISABLE_JIT=1``."""

AT_ONCE, PATIENCE = 0.5, 5.0
"""CPU seconds that one process spends on one function in plain Python, before it is loaded, or compiled: about what
that costs. Once Numba is there, loading costs little, and is not put off."""


def load_at_once() -> None:
    """A long run begins: what an earlier run has compiled is loaded at its first use, not after AT_ONCE."""
    if COMPILED:
        import numba  # noqa: F401


def kernel(function: F) -> F:
    """Compile this function with Numba (cached on disk), unless compiling is switched off.

    A kernel may call other kernels and use module constants, which must not change; it gets and changes arrays, and
    draws no random number except from an array's counter.
    """
    return _made(function)


def lean_kernel(function: F) -> F:
    """`kernel` for a function that allocates no array and calls only others like it.

    Numba then counts no references to arrays, which makes small functions over many arrays several times faster, and
    quicker to compile.
    """
    return _made(function, _nrt=False)


def inner_kernel(function: F) -> F:
    """`lean_kernel` for a function that only kernels call.

    It is compiled without an entry from Python, which for many arrays takes longer to compile than a small function.
    """
    return _made(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def batch_kernel(function: F) -> F:
    """`kernel` for a loop over many worlds: other threads run Python, or other parts of the loop, meanwhile.

    It is for long work, and so is compiled at its first call.
    """
    return _made(function, nogil=True)


def slow_kernel(plainly: F) -> Callable[[F], F]:
    """`kernel` for loops that would be too slow in plain Python: until they are compiled, `plainly` runs instead.

    It must give the same results, bit by bit (with whole arrays, say).
    """

    def decorate(function: F) -> F:
        return cast(F, Kernel(function, {}, plainly)) if COMPILED else plainly

    return decorate


def _made(function: F, **options: bool) -> F:
    return cast(F, Kernel(function, options)) if COMPILED else function


class Kernel:
    """A function that is compiled when that is worth it; see the module. In another kernel it stands for `compiled`."""

    def __init__(
        self, function: Callable[..., Any], options: dict[str, bool], plainly: Callable[..., Any] | None = None
    ) -> None:
        """`options` are those of Numba's ``njit``; `plainly` is what runs uncompiled, without it `plain(function)`."""
        self.py_func = function
        self._options = options
        self._plain = plainly
        self._eager = bool(options.get("nogil"))
        self._ready = self._looked = False
        self._spent = 0.0
        update_wrapper(self, function)

    @cached_property
    def compiled(self) -> Any:
        """Numba's dispatcher of this function."""
        import numba
        from numba.extending import typeof_impl

        if Kernel not in typeof_impl.registry:
            typeof_impl.register(Kernel)(lambda kernel, context: typeof_impl(kernel.compiled, context))
        every: dict[str, Any] = {"cache": True, **self._options}
        return numba.njit(**every)(self.py_func)

    def __call__(self, *args: Any) -> Any:
        if self._ready:
            return self.compiled(*args)
        if not self._looked and (self._eager or self._spent >= AT_ONCE or "numba" in sys.modules):
            self._looked, self._ready = True, self._on_disk() or self._eager
        elif self._spent >= PATIENCE:
            self._ready = True
        return self.compiled(*args) if self._ready else self._run_plain(args)

    def _run_plain(self, args: tuple[Any, ...]) -> Any:
        import numpy as np

        if self._plain is None:
            self._plain = plain(self.py_func)
        begun = time.thread_time()
        # NumPy would warn where 64-bit numbers wrap around, as random streams do.
        with np.errstate(over="ignore"):
            result = self._plain(*args)
        self._spent += time.thread_time() - begun
        return _as_python(result)

    def _on_disk(self) -> bool:
        """Whether an earlier run left the compiled function, from these sources."""
        if not self._forget_others():
            for kernel in reached(self.py_func):
                kernel._forget_others()
        folder, name = self._place()
        return any(folder.glob(f"{name}-{self.py_func.__code__.co_firstlineno}.*.nbi"))

    def _forget_others(self) -> bool:
        """Delete what was compiled from other sources; False where there may be such, also of kernels called here.

        Numba looks at this function's own file alone, and would use what it compiled of others as they were then.
        """
        folder, name = self._place()
        mark, mine = folder / f"{name}.sources", fingerprint(self.py_func)
        if mark.is_file() and mark.read_text() == mine:
            return True
        for index in folder.glob(f"{name}-*.nbi"):
            index.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(mine)
        return False

    def _place(self) -> tuple[Path, str]:
        """Where Numba keeps what it compiles of this function, and how the names of these files begin."""
        module = self.py_func.__module__.rpartition(".")[2]
        return Path(self.compiled.stats.cache_path), f"{module}.{self.py_func.__qualname__}"


def reached(function: Callable[..., Any], met: dict[int, Kernel] | None = None) -> list[Kernel]:
    """The kernels that this function calls, however deep."""
    met = {} if met is None else met
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, Kernel) and id(value) not in met:
            met[id(value)] = value
            reached(value.py_func, met)
    return list(met.values())


def fingerprint(function: Callable[..., Any]) -> str:
    """A digest of what is compiled into this function: its code, that of what it calls, and their constants."""
    import numpy as np

    digest = hashlib.sha256()
    for part in (function, *(kernel.py_func for kernel in reached(function))):
        code = part.__code__
        constants = [getattr(constant, "co_code", constant) for constant in code.co_consts]
        digest.update(code.co_code + repr((code.co_name, constants, code.co_names)).encode())
        for name in code.co_names:
            value = part.__globals__.get(name)
            if isinstance(value, np.ndarray | np.generic):
                digest.update(repr((name, value.dtype, value.shape)).encode() + value.tobytes())
            elif isinstance(value, int | float | str | tuple):
                digest.update(repr((name, value)).encode())
    return digest.hexdigest()


def plain(function: Callable[..., Any], made: dict[Callable[..., Any], Any] | None = None) -> Callable[..., Any]:
    """This function with plain functions instead of the kernels that it calls, however deep."""
    made = {} if made is None else made
    if function not in made:
        scope: dict[str, Any] = {"__builtins__": builtins}
        made[function] = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
        for name in function.__code__.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                scope[name] = plain(value.py_func, made) if hasattr(value, "py_func") else value
    return cast(Callable[..., Any], made[function])


def _as_python(result: Any) -> Any:
    """Python's own numbers instead of NumPy's, as compiled functions return them."""
    import numpy as np

    if isinstance(result, np.generic):
        return result.item()
    if type(result) is tuple:
        return tuple(_as_python(part) for part in result)
    return result
