"""Random joint play of MA-Crafter, and what must hold after every step of it."""

from __future__ import annotations

import hashlib

import numpy as np

from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter import constants as c
from emcoop.envs.ma_crafter.generator import generate
from emcoop.envs.ma_crafter.rules import step_in_place
from emcoop.envs.ma_crafter.state import CrafterState, count_chunks, from_bytes, to_bytes
from emcoop.envs.ma_crafter.tables import Rules, crafter_rules

COOPERATIVE = crafter_rules(
    required={"tree": 2, "stone": 2},
    reach=2,
    makers={"wood_pickaxe": 2},
    leader_faces=True,
    near={"furnace": ("table",)},
    weights={"stone": 3},
    capacity=20,
    share_distance=2,
    on_death="respawn",
)


def step(state: CrafterState, actions: list[int], rules: Rules) -> tuple[CrafterState, np.ndarray, int]:
    """The state after these primitives, the rewards and the outcome."""
    after, rewards = state.copy(), np.zeros(state.team)
    outcome = step_in_place(after, rules, np.array(actions, np.int64), rewards)
    return after, rewards, int(outcome)


def lively(stream: Stream, agents: int) -> list[int]:
    """Random primitives of which about half collect, craft, place or share."""
    joint = []
    together = stream.below(c.primitive_count(agents))
    for _ in range(agents):
        kind = stream.below(6)
        if kind < 2:
            joint.append(c.LEFT + stream.below(4))
        elif kind == 2:
            joint.append(together)
        elif kind == 3:
            joint.append(stream.below(c.primitive_count(agents)))
        else:
            joint.append(stream.below(c.SHARE))
    return joint


def play(agents: int, seed: int, steps: int, rules: Rules, side: int = 64) -> list[CrafterState]:
    """All states of such an episode."""
    states, stream = [generate(rules, agents, seed, (side, side))], Stream.named(seed, "play")
    for _ in range(steps):
        states.append(step(states[-1], lively(stream, agents), rules)[0])
    return states


def digest(agents: int, seed: int, steps: int) -> str:
    """One number for a whole episode."""
    found = hashlib.sha256()
    for state in play(agents, seed, steps, COOPERATIVE):
        found.update(to_bytes(state))
    return found.hexdigest()


def check_sound(state: CrafterState, rules: Rules) -> None:
    """What follows from the rest is as if it were computed afresh; nothing is beyond its limits."""
    again = from_bytes(to_bytes(state))
    assert np.array_equal(again.occupant, state.occupant)
    assert np.array_equal(count_chunks(state.material, state.mobs), state.chunks)
    assert state.inventory.min() >= 0
    assert state.inventory.max() <= c.MOST
    assert (state.inventory[:, c.VITALS :] @ rules.weights[c.VITALS :]).max() <= rules.limits[1]
    for row, col in state.agents[state.agents[:, c.DEAD] == 0][:, [c.ROW, c.COL]]:
        assert state.material[row, col] in c.WALKABLE
    used = state.ids[state.ids > 0].tolist() + [m[c.MOB_ID] for m in state.mobs if m[c.MOB_ID]]
    assert len(set(used)) == len(used)
    assert all(number < state.clock[c.NEXT_ID] for number in used)
    seen = (state.seen > 0).any(axis=0)
    assert ((state.ids > 0) <= seen).all()
