"""Crafter itself beside our rules: one agent, the same world, the same actions.

Only Crafter's randomness is taken away: it draws no pictures, its chunks are not balanced, and its player always or
never finds a sapling.
"""

from __future__ import annotations

from typing import Any

import crafter
import numpy as np
from crafter import objects
from numpy.typing import NDArray

from emcoop.envs.ma_crafter.constants import ACHIEVEMENTS, DIRECTIONS, ITEMS, KIND, MOBS
from emcoop.envs.ma_crafter.rules import step_in_place
from emcoop.envs.ma_crafter.state import CrafterState, make_state
from emcoop.envs.ma_crafter.tables import Rules, crafter_rules

KINDS = {"cow": objects.Cow, "zombie": objects.Zombie, "skeleton": objects.Skeleton, "plant": objects.Plant}
FACINGS = {(-1, 0): "left", (1, 0): "right", (0, -1): "up", (0, 1): "down"}


class Fixed:
    """A random generator that always says the same, for Crafter's player."""

    def __init__(self, value: float) -> None:
        self.value = value

    def uniform(self) -> float:
        return self.value


class Original(crafter.Env):  # type: ignore[misc]
    """Crafter without pictures and without new mobs."""

    def _obs(self) -> None:
        return None

    def _balance_chunk(self, chunk: Any, objs: Any) -> None:
        return None


def fresh(seed: int, side: int = 64) -> Original:
    """A world as Crafter generates it, mobs and all."""
    env = Original(area=(side, side), seed=seed)
    env.reset()
    return env


def ground(env: Original) -> NDArray[np.uint8]:
    """Its ground as [row, column]."""
    return env._world._mat_map.T.copy()


def clear(env: Original) -> None:
    """Remove everything but the player."""
    for thing in env._world.objects:
        if thing is not env._player:
            env._world.remove(thing)


def built(material: NDArray[np.integer], place: tuple[int, int], mobs: list[tuple[str, int, int]]) -> Original:
    """A world of this ground [row, column] with the player and mobs (kind, row, col) there."""
    env = fresh(0, material.shape[0])
    clear(env)
    env._world._mat_map[:] = material.T
    env._world.move(env._player, (place[1], place[0])) if tuple(env._player.pos) != (place[1], place[0]) else None
    for kind, row, col in mobs:
        extra = (env._player,) if kind in ("zombie", "skeleton") else ()
        env._world.add(KINDS[kind](env._world, (col, row), *extra))
    return env


def ours(env: Original, seed: int = 0) -> CrafterState:
    """The same world as our state."""
    player, mobs = env._player, []
    for thing in env._world.objects:
        for kind, cls in KINDS.items():
            if type(thing) is cls:
                mobs.append((MOBS.index(kind), int(thing.pos[1]), int(thing.pos[0]), thing.health))
    state = make_state(ground(env), [(int(player.pos[1]), int(player.pos[0]))], mobs, seed)
    state.inventory[0] = [player.inventory[item] for item in ITEMS]
    return state


def still_rules(sapling: bool) -> Rules:
    """Crafter's rules without balanced chunks, where grass always or never gives a sapling."""
    rules = crafter_rules(monsters=False, cows=False)
    rules.chance[6] = 1.0 if sapling else 0.0
    return rules


def step_both(env: Original, state: CrafterState, rules: Rules, action: int) -> None:
    """The same action in both worlds."""
    env.step(action)
    step_in_place(state, rules, np.array([action], np.int64), np.zeros(1))


def differences(env: Original, state: CrafterState) -> list[str]:
    """Everything in which the two worlds differ."""
    player, found = env._player, []
    agent = state.agents[0]
    pairs: list[tuple[str, Any, Any]] = [
        ("place", (int(player.pos[1]), int(player.pos[0])), (int(agent[0]), int(agent[1]))),
        ("facing", FACINGS[tuple(player.facing)], DIRECTIONS[agent[2]]),
        ("sleeping", bool(player.sleeping), bool(agent[3])),
        ("inventory", [player.inventory[item] for item in ITEMS], state.inventory[0].tolist()),
        ("achievements", [player.achievements[name] for name in ACHIEVEMENTS], state.achievements[0].tolist()),
        (
            "counters",
            [player._hunger * 2, player._thirst * 2, player._fatigue, player._recover * 2],
            agent[5:9].tolist(),
        ),
        ("mobs", their_mobs(env), our_mobs(state)),
    ]
    found += [f"{name}: Crafter {theirs}, ours {mine}" for name, theirs, mine in pairs if theirs != mine]
    if not np.array_equal(ground(env), state.material):
        found.append("ground")
    return found


def their_mobs(env: Original) -> list[tuple[str, int, int, int, int]]:
    """(kind, row, col, health, timer) of everything but the player."""
    found = []
    for thing in env._world.objects:
        for kind, cls in {**KINDS, "arrow": objects.Arrow}.items():
            if type(thing) is cls:
                timer = getattr(thing, "grown", getattr(thing, "cooldown", getattr(thing, "reload", 0)))
                found.append((kind, int(thing.pos[1]), int(thing.pos[0]), int(thing.health), int(timer)))
    return sorted(found)


def our_mobs(state: CrafterState) -> list[tuple[str, int, int, int, int]]:
    """The same of our state."""
    return sorted((MOBS[m[KIND]], *(int(v) for v in m[1:5])) for m in state.mobs if m[KIND])
