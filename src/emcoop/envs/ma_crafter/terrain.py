"""The ground of a new world, with the thresholds of Crafter 1.8.3 (its worldgen.py)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emcoop.envs.ma_crafter.constants import (
    COAL,
    DIAMOND,
    GRASS,
    IRON,
    LAVA,
    PATH,
    SAND,
    STONE,
    TREE,
    WATER,
)
from emcoop.envs.ma_crafter.noise import Floats, noise

DRAWS = 4
"""Uniform numbers that a cell's ground takes: for coal, iron, diamond, tree."""


def terrain(
    order: NDArray[np.int64], chance: Floats, centre: tuple[int, int], clearing: float = 4.0
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """(material [H, W], whether a path is a tunnel [H, W]) for one noise permutation.

    `chance` [DRAWS, H, W] are uniform numbers; `centre` is (row, col) of the start, around which about `clearing`
    cells in every direction are grass.
    """
    _, rows, cols = chance.shape
    y, x = (axis.astype(np.float64) for axis in np.mgrid[0:rows, 0:cols])

    def smooth(z: float, size: float, xs: Floats = x, ys: Floats = y) -> Floats:
        return noise(order, xs / size, ys / size, z)

    start = clearing - np.sqrt((x - centre[1]) ** 2 + (y - centre[0]) ** 2) + 2 * smooth(8, 3)
    start = 1 / (1 + np.exp(-start))
    water = smooth(3, 15) + 0.15 * smooth(3, 5) + 0.1 - 2 * start
    mountain = (smooth(0, 15) + 0.3 * smooth(0, 5)) / 1.3 - (4 * start + 0.3 * water)
    lying = smooth(7, 3, 2 * x, y / 5) > 0.4
    standing = smooth(7, 3, x / 5, 2 * y) > 0.4
    cave = (smooth(6, 7) > 0.15) & (mountain > 0.3)
    # The first condition that holds decides.
    rules = (
        (start > 0.5, GRASS),
        ((mountain > 0.15) & cave, PATH),
        ((mountain > 0.15) & (lying | standing), PATH),
        ((mountain > 0.15) & (smooth(1, 8) > 0) & (chance[0] > 0.85), COAL),
        ((mountain > 0.15) & (smooth(2, 6) > 0.4) & (chance[1] > 0.75), IRON),
        ((mountain > 0.18) & (chance[2] > 0.994), DIAMOND),
        ((mountain > 0.3) & (smooth(6, 5) > 0.35), LAVA),
        (mountain > 0.15, STONE),
        ((water > 0.25) & (water <= 0.35) & (smooth(4, 9) > -0.2), SAND),
        (water > 0.3, WATER),
        ((smooth(5, 7) > 0) & (chance[3] > 0.8), TREE),
    )
    conditions, materials = zip(*rules, strict=True)
    material = np.select(conditions, materials, GRASS).astype(np.uint8)
    tunnels = (start <= 0.5) & (mountain > 0.15) & ~cave & (lying | standing)
    return material, tunnels
