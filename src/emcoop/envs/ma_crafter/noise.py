"""Smooth noise in three dimensions on the simplectic honeycomb, for terrain.

The same function of its permutation as OpenSimplex (Spencer 2014), which Crafter uses: every lattice point nearer than
the root of 2 contributes (2 - d^2)^4 times its gradient along the offset. Here it is a sum over all lattice points
that can be that near: over whole arrays at once, which needs no compiler, or point by point, compiled.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emcoop.core.compile import slow_kernel
from emcoop.core.seeds import GAMMA, MASK64, Stream

Floats = NDArray[np.float64]

_LONG, _SHORT = 11, 4
_GRADIENTS = np.array(
    [
        [sign * (_LONG if axis == long else _SHORT) for axis, sign in enumerate(signs)]
        for signs in (
            (-1, 1, 1),
            (1, 1, 1),
            (-1, -1, 1),
            (1, -1, 1),
            (-1, 1, -1),
            (1, 1, -1),
            (-1, -1, -1),
            (1, -1, -1),
        )
        for long in range(3)
    ],
    np.float64,
)
_NORM = 103.0
_SQUISH = 1.0 / 3.0
_STRETCH = -1.0 / 6.0


def permutation(stream: Stream) -> NDArray[np.int64]:
    """A random order of 0 to 255, which is all that one noise function is made of."""
    order = list(range(256))
    stream.shuffle(order)
    return np.array(order, np.int64)


def at_once(order: NDArray[np.int64], x: Floats, y: Floats, z: float) -> Floats:
    """`noise` over whole arrays."""
    shift = (x + y + z) * _STRETCH
    base = [np.floor(axis + shift) for axis in (x, y, np.full_like(x, z))]
    squish = (base[0] + base[1] + base[2]) * _SQUISH
    dx, dy, dz = x - base[0] - squish, y - base[1] - squish, z - base[2] - squish
    cells = [axis.astype(np.int64) for axis in base]
    value = np.zeros_like(x)
    for i, j, k in _OFFSETS:
        lean = (i + j + k) * _SQUISH
        ex, ey, ez = dx - (i + lean), dy - (j + lean), dz - (k + lean)
        near = np.maximum(2.0 - ex * ex - ey * ey - ez * ez, 0.0)
        near *= near
        hashed = order[(order[(order[(cells[0] + i) & 255] + cells[1] + j) & 255] + cells[2] + k) & 255] % len(
            _GRADIENTS
        )
        gx, gy, gz = _GRADIENTS.T[:, hashed]
        value += near * near * (gx * ex + gy * ey + gz * ez)
    return value / _NORM


def _can_reach(offset: tuple[int, ...]) -> bool:
    """Whether some point of the cell at the origin is nearer than the root of 2 to this lattice point.

    In lattice coordinates v the squared distance is |v|^2 + (sum v)^2 (2/3 + 1/3), convex; so a fine grid over the
    cell, with a margin for its mesh, cannot miss it.
    """
    steps = np.linspace(0.0, 1.0, 13)
    parts = np.meshgrid(*(steps - o for o in offset))
    total = parts[0] + parts[1] + parts[2]
    return bool((parts[0] ** 2 + parts[1] ** 2 + parts[2] ** 2 + total**2).min() < 2.2)


_OFFSETS = [offset for offset in product(range(-2, 4), repeat=3) if _can_reach(offset)]


_PLACES = np.array(_OFFSETS, np.int64)


@slow_kernel(at_once)
def by_point(order: Any, x: Any, y: Any, z: float) -> Any:
    """`at_once`, the same sums point by point: most lattice points are too far away and are left out."""
    value = np.zeros_like(x)
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            px, py = x[r, c], y[r, c]
            shift = (px + py + z) * _STRETCH
            bx, by, bz = np.floor(px + shift), np.floor(py + shift), np.floor(z + shift)
            squish = (bx + by + bz) * _SQUISH
            dx, dy, dz = px - bx - squish, py - by - squish, z - bz - squish
            total = 0.0
            cx, cy, cz = int(bx), int(by), int(bz)
            for o in range(_PLACES.shape[0]):
                i, j, k = _PLACES[o, 0], _PLACES[o, 1], _PLACES[o, 2]
                lean = (i + j + k) * _SQUISH
                ex, ey, ez = dx - (i + lean), dy - (j + lean), dz - (k + lean)
                near = 2.0 - ex * ex - ey * ey - ez * ez
                if near <= 0.0:
                    continue
                near *= near
                hashed = order[(order[(order[(cx + i) & 255] + cy + j) & 255] + cz + k) & 255] % _GRADIENTS.shape[0]
                gx, gy, gz = _GRADIENTS[hashed, 0], _GRADIENTS[hashed, 1], _GRADIENTS[hashed, 2]
                total += near * near * (gx * ex + gy * ey + gz * ez)
            value[r, c] = total / _NORM
    return value


def noise(order: NDArray[np.int64], x: Floats, y: Floats, z: float) -> Floats:
    """The noise at these points, about -0.9 to 0.9; `x` and `y` have one shape, and so has the result.

    `order` [256] is a `permutation`.
    """
    found: Floats = by_point(order, np.atleast_2d(x), np.atleast_2d(y), float(z))
    return found.reshape(x.shape)


def uniforms(stream: Stream, shape: tuple[int, ...]) -> Floats:
    """Uniform numbers in [0, 1), the same that as many calls of `stream.uniform` would give, at once."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(stream.counter) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GAMMA)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    stream.counter = (stream.counter + count * GAMMA) & MASK64
    bits = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).reshape(shape)
    return bits.astype(np.float64) * (1.0 / (1 << 53))
