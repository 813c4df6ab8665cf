"""Small drawn worlds for the tests of MA-Crafter's symbolic layer."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel

from emcoop.core.seeds import Stream
from emcoop.core.types import AgentId
from emcoop.envs.base import Done, Failed, Primitive, Progress
from emcoop.envs.ma_crafter.constants import COW, GRASS, ITEMS, MOB_ROW, MOBS, PLANT, SKELETON, TIMER, ZOMBIE
from emcoop.envs.ma_crafter.env import MACrafter, make
from emcoop.envs.ma_crafter.observe import GROUND_SYMBOLS
from emcoop.envs.ma_crafter.sight import look
from emcoop.envs.ma_crafter.state import CrafterState, make_state

HEALTHS = {"C": (COW, 3), "Z": (ZOMBIE, 5), "K": (SKELETON, 3), "p": (PLANT, 1)}


def quiet(agents: int, level: str = "easy", **parameters: Any) -> MACrafter:
    """A world in which no mobs appear by themselves."""
    return make(agents, level, mobs="none", **parameters)


def draw(
    env: MACrafter, *rows: str, bags: Mapping[int, Mapping[str, int]] | None = None, seed: int = 0
) -> CrafterState:
    """The state of a drawing: ground by its symbols, agents by digits (on grass), mobs by C, Z, K and p."""
    material = np.full((len(rows), len(rows[0])), GRASS, np.uint8)
    places: dict[int, tuple[int, int]] = {}
    mobs = []
    for r, line in enumerate(rows):
        for c, symbol in enumerate(line):
            if symbol.isdigit():
                places[int(symbol)] = (r, c)
            elif symbol in HEALTHS:
                kind, health = HEALTHS[symbol]
                mobs.append((kind, r, c, health))
            else:
                material[r, c] = GROUND_SYMBOLS.index(symbol)
    state = make_state(material, [places[i] for i in range(len(places))], mobs, seed)
    for agent, bag in (bags or {}).items():
        for item, count in bag.items():
            state.inventory[agent, ITEMS.index(item)] = count
    look(state, env.tables)
    return state


def ripen(state: CrafterState, row: int) -> None:
    """Make the plants of this row ripe."""
    plants = (state.mobs[:, 0] == MOBS.index("plant")) & (state.mobs[:, MOB_ROW] == row)
    state.mobs[plants, TIMER] = 1000


def carry_out(
    env: MACrafter, state: CrafterState, actions: Mapping[AgentId, BaseModel], most: int = 200
) -> tuple[dict[AgentId, Done | Failed], CrafterState, dict[AgentId, list[int]]]:
    """Ground these actions together until each has ended; who has ended waits. Also the primitives of each."""
    progress = {agent: Progress() for agent in actions}
    ends: dict[AgentId, Done | Failed] = {}
    played: dict[AgentId, list[int]] = {agent: [] for agent in actions}
    for _ in range(most):
        joint = dict.fromkeys(env.agents, 0)
        for agent, action in actions.items():
            if agent in ends:
                continue
            grounded = env.ground(state, agent, action, progress[agent])
            assert env.ground(state, agent, action, progress[agent]) == grounded
            if isinstance(grounded, Primitive):
                joint[agent] = grounded.action
                played[agent].append(grounded.action)
                progress[agent] = Progress(progress[agent].steps + 1, grounded.memo)
            else:
                ends[agent] = grounded
        if len(ends) == len(actions):
            return ends, state, played
        state = env.step(state, joint).state
    raise AssertionError(f"{sorted(set(actions) - set(ends))} never ended")


def end_of(env: MACrafter, state: CrafterState, action: BaseModel, agent: str = "agent_0") -> tuple[str, CrafterState]:
    """``done`` or the code of the failure of one agent's action, and the state in which it ended."""
    ends, after, _ = carry_out(env, state, {agent: action})
    end = ends[agent]
    return ("done" if isinstance(end, Done) else end.failure.code), after


def bag(state: CrafterState, agent: int = 0) -> dict[str, int]:
    """What an agent carries."""
    return {name: int(n) for name, n in zip(ITEMS[4:], state.inventory[agent, 4:], strict=True) if n}


def random_joint(env: MACrafter, stream: Stream) -> dict[str, int]:
    """A random joint action: mostly moves and collecting, often the same for all."""

    def one() -> int:
        return (1 + stream.below(4)) if stream.below(2) else stream.below(26)

    common = one()
    return {agent: common if stream.below(3) else one() for agent in env.agents}
