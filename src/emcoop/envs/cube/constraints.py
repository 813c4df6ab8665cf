"""The cooperation constraints of CUBE's tasks (paper, equations 22 and 28-32), as sets of agents.

A task is a block and the face agents stand at. For task g with block b and push direction d:

- p(g) is the weight of the block chain that a push would have to move (w_b when the block stands free);
- spatial: the agent stands at that face, or in a contiguous line of agents behind it;
- temporal: its primitive is the push d, and so is that of everybody between it and the block;
- dependency: the way is clear: every destination cell of the chain is inside and holds no agent. This is a fact of
  the world, so it holds for the whole team or for nobody;
- participation: all of these at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from emcoop.core.types import NO_TASK, AgentId, Constraint, Move, TaskConstraints, TaskId, agent_names, primitive_of
from emcoop.envs.cube.contact import at_face, parse_task, standing, task_name
from emcoop.envs.cube.rules import chain, pushed_block
from emcoop.envs.cube.state import DCOL, DROW, PUSH_OF_SIDE, CubeState


def active_tasks(state: CubeState, named: frozenset[TaskId]) -> list[tuple[int, str]]:
    """G_t: tasks at whose face somebody stands, and those named by a plan; (block, face), sorted."""
    tasks = {(block, side) for block, sides in standing(state).items() for side in sides}
    for name in named:
        parsed = None if name == NO_TASK else parse_task(name)
        if parsed is not None and parsed[0] < len(state.blocks) and state.alive[parsed[0]]:
            tasks.add(parsed)
    return sorted(tasks)


def constraints(
    state: CubeState, actions: Mapping[AgentId, Move], named: frozenset[TaskId]
) -> dict[TaskId, TaskConstraints]:
    """The active tasks and who satisfies what under this joint action, taken in this state."""
    active = active_tasks(state, named)
    if not active:
        return {}
    names = agent_names(len(state.agents))
    everybody = frozenset(names)
    chosen = [primitive_of(actions[agent]) for agent in names]
    primitives = np.array(chosen, np.int64)
    nobody = np.zeros(len(names), np.uint8)
    found: dict[TaskId, TaskConstraints] = {}
    for block, side in active:
        direction = PUSH_OF_SIDE[side]
        members = np.empty(len(state.blocks), np.int64)
        inside = np.zeros(len(state.blocks), np.uint8)
        _, weight, room = chain(state.grid, state.blocks, block, DROW[direction], DCOL[direction], members, inside)
        there = at_face(state, block, side)
        acting = [i for i in there if chosen[i] == direction]
        pushing = [i for i in acting if pushed_block(state.grid, state.agents, primitives, nobody, i) == block]
        spatial, temporal = frozenset(names[i] for i in there), frozenset(names[i] for i in pushing)
        dependency = everybody if room else frozenset()
        found[task_name(block, side)] = TaskConstraints(
            required=int(weight),
            satisfied={
                Constraint.SPATIAL: spatial,
                Constraint.TEMPORAL: temporal,
                Constraint.DEPENDENCY: dependency,
                Constraint.PARTICIPATION: spatial & temporal & dependency,
            },
            attempting=frozenset(names[i] for i in acting),
        )
    return found
