"""What an agent sees of CUBE: the symbolic dictionary and the five-channel array (paper, H.2.1).

The world is fully observed: everybody sees all agents, all blocks and the recent symbolic actions of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from emcoop.core.types import ActionRecord, AgentId, agent_index
from emcoop.envs.cube.contact import faced_block
from emcoop.envs.cube.state import PUSH_OF_SIDE, RESULTS, SIDES, CubeState

HISTORY_STEPS = 5
"""How many past steps of the action history an observation shows."""

CHANNELS = ("agents", "weights", "goal", "agent_ids", "block_ids")


class _Seen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SeenAgent(_Seen):
    """An agent and its cell."""

    id: str
    row: int
    col: int


class SeenBlock(_Seen):
    """A block: its top-left cell, its columns to the goal, and who stands at (or in line behind) which face."""

    id: int
    weight: int
    row: int
    col: int
    distance: int
    faces: dict[str, tuple[str, ...]]


class SeenAction(_Seen):
    """What a teammate did at a past step."""

    agent: str
    step: int
    action: str
    primitive: str
    status: str


class CubeObservation(_Seen):
    """The symbolic observation of one agent. `last_result` is what became of its last primitive."""

    agent: str
    step: int
    horizon: int
    side: int
    goal_column: int
    agents: tuple[SeenAgent, ...]
    blocks: tuple[SeenBlock, ...]
    delivered: tuple[int, ...]
    last_result: str
    history: tuple[SeenAction, ...] = ()

    def me(self) -> SeenAgent:
        """The observing agent."""
        return self.agents[agent_index(self.agent)]

    def block(self, number: int) -> SeenBlock | None:
        """The block of this id, if it has not been delivered."""
        return next((block for block in self.blocks if block.id == number), None)


def observe(state: CubeState, agent: AgentId, horizon: int, history: Sequence[ActionRecord]) -> CubeObservation:
    """The symbolic observation."""
    side = state.side
    agents = tuple(SeenAgent(id=f"agent_{i}", row=r, col=c) for i, (r, c) in enumerate(state.agents.tolist()))
    faces = _faces(state)
    alive = state.alive.tolist()
    blocks = [
        SeenBlock(id=b, weight=weight, row=row, col=col, distance=side - col - weight, faces=faces.get(b, {}))
        for b, (row, col, weight) in enumerate(state.blocks.tolist())
        if alive[b]
    ]
    recent = takewhile(lambda record: record.step >= state.step - HISTORY_STEPS, reversed(history))
    past = tuple(reversed([_seen_action(record) for record in recent]))
    return CubeObservation(
        agent=agent,
        step=state.step,
        horizon=horizon,
        side=side,
        goal_column=side - 1,
        agents=agents,
        blocks=tuple(blocks),
        delivered=tuple(int(b) for b in np.flatnonzero(state.alive == 0)),
        last_result=RESULTS[int(state.last[agent_index(agent), 0])],
        history=past,
    )


@lru_cache(maxsize=4096)
def _seen_action(record: ActionRecord) -> SeenAction:
    """Made once for all agents and steps that see it."""
    return SeenAction(
        agent=record.agent,
        step=record.step,
        action=record.action,
        primitive=record.primitive,
        status=record.status,
    )


def _faces(state: CubeState) -> dict[int, dict[str, tuple[str, ...]]]:
    """For each block that agents stand at, or in line behind: face -> these agents, by index."""
    found: dict[int, dict[str, tuple[str, ...]]] = {}
    for side in SIDES:
        for agent in range(len(state.agents)):
            block = faced_block(state, agent, PUSH_OF_SIDE[side])
            if block is not None:
                there = found.setdefault(block, {})
                there[side] = (*there.get(side, ()), f"agent_{agent}")
    return found


def describe(seen: CubeObservation) -> str:
    """The observation as compact text."""
    me = seen.me()
    lines = [
        f"Step {seen.step} of {seen.horizon}. You are {seen.agent} at (row {me.row}, col {me.col}). "
        f"Last primitive: {seen.last_result}.",
        "Agents: " + ", ".join(f"{a.id} ({a.row}, {a.col})" for a in seen.agents),
        "Blocks:" if seen.blocks else "Blocks: none left.",
    ]
    for block in seen.blocks:
        there = "; ".join(f"{', '.join(agents)} at its {side} face" for side, agents in block.faces.items())
        lines.append(
            f"- block {block.id}: weight {block.weight}, top-left ({block.row}, {block.col}), "
            f"{block.distance} pushes to the goal column" + (f"; {there}" if there else "")
        )
    if seen.delivered:
        lines.append("Delivered: " + ", ".join(f"block {b}" for b in seen.delivered))
    recent = _recent(seen)
    if recent:
        lines.append("Latest actions: " + "; ".join(recent))
    return "\n".join(lines)


def _recent(seen: CubeObservation) -> list[str]:
    """The last known action of each teammate."""
    latest = {h.agent: h for h in seen.history if h.agent != seen.agent}
    return [f"{h.agent} {h.action} ({h.primitive})" for h in (latest[a] for a in sorted(latest, key=agent_index))]


def array(state: CubeState) -> NDArray[np.float32]:
    """[K, K, 5]: agents, block weights, goal column, agent index + 1, block index + 1."""
    grid = state.grid
    seen = np.zeros((*grid.shape, len(CHANNELS)), np.float32)
    agents, blocks = grid < 0, grid > 0
    seen[..., 0] = agents
    seen[..., 1][blocks] = state.blocks[grid[blocks] - 1, 2]
    seen[:, -1, 2] = 1.0
    seen[..., 3][agents] = -grid[agents]
    seen[..., 4][blocks] = grid[blocks]
    return seen
