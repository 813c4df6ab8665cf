"""The initial state of a seed: ground, agents, mobs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter.constants import (
    COW,
    GRASS,
    MATERIALS,
    MOB_HEALTHS,
    PATH,
    SIDE,
    SKELETON,
    WALKABLE,
    ZOMBIE,
)
from emcoop.envs.ma_crafter.noise import Floats, permutation, uniforms
from emcoop.envs.ma_crafter.sight import look
from emcoop.envs.ma_crafter.state import CrafterState, make_state
from emcoop.envs.ma_crafter.tables import COWS, MONSTERS, Rules
from emcoop.envs.ma_crafter.terrain import DRAWS, terrain

CLEARING, TEAM_IN_CLEARING = 4.0, 4
"""The radius of the grass around the start, as in Crafter; a team of more than so many gets a larger one."""

TRIES = 100
"""Worlds that are drawn before one that must have certain materials counts as not to be found."""

_MOB_DRAWS = 3


def generate(
    rules: Rules, agents: int, seed: int, size: tuple[int, int] = (SIDE, SIDE), must_have: Sequence[str] = ()
) -> CrafterState:
    """The initial state of this seed: a function of its arguments alone, in any process.

    `size` is (rows, columns). Worlds that lack one of the materials `must_have` are drawn again. Agent 0 starts in
    the middle, the others as near to it as they can stand; everybody has looked around once. Raises ConfigError when
    the team does not fit or no world with these materials is found.
    """
    stream = Stream.named(seed, "world", "ma-crafter")
    needed = [MATERIALS.index(name) for name in must_have]
    for _ in range(TRIES):
        state = _draw(rules, agents, size, stream)
        if np.isin(needed, state.material).all():
            look(state, rules)
            return state
    raise ConfigError(f"ma-crafter: no world of {size[0]} x {size[1]} cells with {', '.join(must_have)} was found")


def _draw(rules: Rules, agents: int, size: tuple[int, int], stream: Stream) -> CrafterState:
    rows, cols = size
    centre = (rows // 2, cols // 2)
    clearing = CLEARING if agents <= TEAM_IN_CLEARING else 2 + sqrt(agents)
    material, tunnels = terrain(permutation(stream), uniforms(stream, (DRAWS, rows, cols)), centre, clearing)
    places = _stand_together(material, centre, agents)
    mobs = _mobs(rules, material, tunnels, places, uniforms(stream, (_MOB_DRAWS, rows, cols)))
    return make_state(material, places, mobs, stream.next64())


def _stand_together(material: NDArray[np.uint8], centre: tuple[int, int], agents: int) -> list[tuple[int, int]]:
    """The cells nearest to the centre by way of walking, in the order in which they are reached."""
    queue, met = deque([centre]), {centre}
    places: list[tuple[int, int]] = []
    while queue and len(places) < agents:
        row, col = queue.popleft()
        places.append((row, col))
        for cell in ((row, col - 1), (row, col + 1), (row - 1, col), (row + 1, col)):
            within = 0 <= cell[0] < material.shape[0] and 0 <= cell[1] < material.shape[1]
            if within and cell not in met and material[cell] in WALKABLE:
                met.add(cell)
                queue.append(cell)
    if len(places) < agents:
        raise ConfigError(f"ma-crafter: {agents} agents do not fit into the start of a world of this size")
    return places


def _mobs(
    rules: Rules,
    material: NDArray[np.uint8],
    tunnels: NDArray[np.bool_],
    places: Sequence[tuple[int, int]],
    chance: Floats,
) -> list[tuple[int, int, int, int]]:
    """(kind, row, col, health) of the first cows, zombies and skeletons, row by row, with Crafter's probabilities.

    Nothing starts near an agent. `chance` [3, H, W] are uniform numbers.
    """
    rows, cols = np.mgrid[0 : material.shape[0], 0 : material.shape[1]]
    squares = [(rows - row) ** 2 + (cols - col) ** 2 for row, col in places]
    away = np.sqrt(np.min(squares, axis=0))
    free = np.isin(material, WALKABLE) & (away > 0)
    cow = free & (away > 3) & (material == GRASS) & (chance[0] > 0.985)
    zombie = free & ~cow & (away > 10) & (chance[1] > 0.993)
    skeleton = free & ~cow & ~zombie & (material == PATH) & tunnels & (chance[2] > 0.95)
    monsters, cows = bool(rules.limits[MONSTERS]), bool(rules.limits[COWS])
    kinds = np.where(cow & cows, COW, np.where(zombie & monsters, ZOMBIE, np.where(skeleton & monsters, SKELETON, 0)))
    return [(int(kinds[r, c]), int(r), int(c), MOB_HEALTHS[kinds[r, c]]) for r, c in np.argwhere(kinds)]
