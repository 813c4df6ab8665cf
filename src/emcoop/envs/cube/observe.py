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

from emcoop.core.types import ActionRecord, AgentId, agent_index, agent_names
from emcoop.envs.cube.contact import standing
from emcoop.envs.cube.state import RESULTS, CubeState

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
    agents, blocks, delivered = _world(state)
    recent = takewhile(lambda record: record.step >= state.step - HISTORY_STEPS, reversed(history))
    return CubeObservation(
        agent=agent,
        step=state.step,
        horizon=horizon,
        side=side,
        goal_column=side - 1,
        agents=agents,
        blocks=blocks,
        delivered=delivered,
        last_result=RESULTS[state.last.item(agent_index(agent), 0)],
        history=_past(tuple(recent)),
    )


@lru_cache(maxsize=64)
def _world(state: CubeState) -> tuple[tuple[SeenAgent, ...], tuple[SeenBlock, ...], tuple[int, ...]]:
    """What all agents see alike: the agents, the blocks, and which blocks have been delivered."""
    names = agent_names(len(state.agents))
    agents = tuple(SeenAgent(id=name, row=r, col=c) for name, (r, c) in zip(names, state.agents.tolist(), strict=True))
    there = standing(state)
    blocks: list[SeenBlock] = []
    delivered: list[int] = []
    for b, ((row, col, weight), alive) in enumerate(zip(state.blocks.tolist(), state.alive.tolist(), strict=True)):
        if not alive:
            delivered.append(b)
            continue
        faces = {face: tuple(names[i] for i in who) for face, who in there.get(b, {}).items()}
        distance = state.side - col - weight
        blocks.append(SeenBlock(id=b, weight=weight, row=row, col=col, distance=distance, faces=faces))
    return agents, tuple(blocks), tuple(delivered)


@lru_cache(maxsize=64)
def _past(newest_first: tuple[ActionRecord, ...]) -> tuple[SeenAction, ...]:
    """The action history, oldest first."""
    return tuple(
        SeenAction(
            agent=record.agent,
            step=record.step,
            action=record.action,
            primitive=record.primitive,
            status=record.status,
        )
        for record in reversed(newest_first)
    )


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
