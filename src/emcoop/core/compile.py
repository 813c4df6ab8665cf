"""Hot rules are plain functions over NumPy arrays; this is the one place that decides to compile them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])

COMPILED = os.environ.get("EMCOOP_COMPILE", "1") != "0"
"""``EMCOOP_COMPILE=0`` runs every rule uncompiled: for debugging, and where Numba is not wanted."""


def kernel(function: F) -> F:
    """Compile this function with Numba (cached on disk), unless compiling is switched off.

    A kernel may call other kernels and use module constants; it gets and changes arrays, and draws no random number
    except from an array's counter.
    """
    if not COMPILED:
        return function
    import numba

    return cast(F, numba.njit(cache=True)(function))
