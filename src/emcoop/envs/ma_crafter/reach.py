"""Which worlds no team can win: a bound by the ground alone.

Where a resource takes several agents, all of them must find a place to stand within the level's distance. A team that
never dies, has every tool and clears whatever it can get around may come to more cells than any real one, never to
fewer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emcoop.envs.ma_crafter.config import Level, materials_needed
from emcoop.envs.ma_crafter.constants import COL, GRASS, LAVA, MATERIALS, PATH, ROW, SAND, STONE, WATER
from emcoop.envs.ma_crafter.recipes import COOPERATIVE
from emcoop.envs.ma_crafter.state import CrafterState

Mask = NDArray[np.bool_]


def could_win(state: CrafterState, level: Level) -> bool:
    """False when no team can take one of the resources that the goal needs in this world; True proves nothing.

    Water and lava count as rock: a stone can be put onto them and taken again.
    """
    stood = _ground_in_reach(state, level)
    return all(_takeable(state, level, name, stood).any() for name in materials_needed(level))


def _ground_in_reach(state: CrafterState, level: Level) -> Mask:
    """[H, W]: the cells on which the team may come to stand."""
    material = state.material
    free: Mask = np.isin(material, (GRASS, SAND, PATH))
    stood = np.zeros_like(free)
    stood[state.agents[:, ROW], state.agents[:, COL]] = True
    while True:
        before = int(stood.sum())
        stood = _flood(stood, free)
        for name in COOPERATIVE:
            free |= _takeable(state, level, name, stood)
        if int(stood.sum()) == before:
            return stood


def _takeable(state: CrafterState, level: Level, name: str, stood: Mask) -> Mask:
    """[H, W]: the cells of this resource around which enough agents can stand."""
    kinds = (STONE, WATER, LAVA) if name == "stone" else (MATERIALS.index(name),)
    reach = level.cooperative_collection.distance_threshold
    places = np.zeros(stood.shape, np.int64)
    for r in range(-reach, reach + 1):
        for c in range(abs(r) - reach, reach - abs(r) + 1):
            if r or c:
                places += _shifted(stood, r, c)
    found: Mask = np.isin(state.material, kinds) & (places >= level.required(name))
    return found


def _shifted(mask: Mask, rows: int, cols: int) -> Mask:
    """[H, W]: the mask at each cell plus an offset; False beyond the map."""
    height, width = mask.shape
    moved = np.zeros_like(mask)
    moved[max(0, -rows) : height - max(0, rows), max(0, -cols) : width - max(0, cols)] = mask[
        max(0, rows) : height + min(0, rows), max(0, cols) : width + min(0, cols)
    ]
    return moved


def _flood(stood: Mask, free: Mask) -> Mask:
    """The mask and what can be walked to from it over free ground."""
    while True:
        wider = stood | _shifted(stood, 1, 0) | _shifted(stood, -1, 0) | _shifted(stood, 0, 1) | _shifted(stood, 0, -1)
        wider &= free | stood
        if (wider == stood).all():
            return stood
        stood = wider
