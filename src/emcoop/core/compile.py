"""Hot rules are plain functions over NumPy arrays; this is the one place that decides to compile them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])

COMPILED = os.environ.get("EMCOOP_COMPILE", "1") != "0"
"""``EMCOOP_COMPILE=0`` runs every rule uncompiled: for debugging, and where Numba is not wanted."""


def kernel(function: F) -> F:
    """Compile this function with Numba (cached on disk), unless compiling is switched off.

    A kernel may call other kernels and use module constants; it gets and changes arrays, and draws no random number
    except from an array's counter.
    """
    return _compiled(function)


def lean_kernel(function: F) -> F:
    """`kernel` for a function that allocates no array and calls only others like it.

    Numba then counts no references to arrays, which makes small functions over many arrays several times faster, and
    quicker to compile.
    """
    return _compiled(function, _nrt=False)


def inner_kernel(function: F) -> F:
    """`lean_kernel` for a function that only kernels call.

    It is compiled without an entry from Python, which for many arrays takes longer to compile than a small function.
    """
    return _compiled(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compiled(function: F, **options: bool) -> F:
    if not COMPILED:
        return function
    import numba

    every: dict[str, Any] = {"cache": True, **options}
    return cast(F, numba.njit(**every)(function))
