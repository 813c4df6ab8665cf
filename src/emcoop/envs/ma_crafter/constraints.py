"""The cooperation constraints of MA-Crafter's tasks (paper, equations 23-27), as sets of agents.

For task g, a collectable thing at a cell:

- p(g) is the level's `required_agents` of its resource;
- spatial (24): the agent lives and is within the distance (Manhattan) of the cell;
- temporal (25): its primitive takes part in g, by the engine's own rule (the nearest cell of the resource it names,
  the faced one first; for `do` the faced one);
- dependency (23, the capability): the agent lives and has the required tool;
- participation (26, 27): all of these at once, which is whom the engine counts.

Only the cells around agents, those that are acted on and those that plans name are looked at, never the whole map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emcoop.core.compile import kernel
from emcoop.core.types import AgentId, Constraint, Move, TaskConstraints, TaskId, agent_names, primitive_of
from emcoop.envs.ma_crafter.collect import has_tool, part_of, resource_at
from emcoop.envs.ma_crafter.constants import COL, DEAD, ENERGY, MOST, R_GRASS, RESOURCES, ROW, SLEEPING
from emcoop.envs.ma_crafter.state import CrafterState, Ints
from emcoop.envs.ma_crafter.tables import REACH, REQUIRED, Rules
from emcoop.envs.ma_crafter.tasks import Hints, place_of, task_at


@kernel
def survey(state: Any, rules: Any, actions: Any) -> Any:
    """What every agent can take part in: (parts [N, 2], cells [K, 2], tools [N, resources]).

    `parts` is the resource and the cell number of its primitive, -1 for none; `cells` the cell numbers, with their
    resource, that lie within reach of a living agent (with repetitions, agent by agent); `tools` is 1 where a living
    agent has what the resource requires.
    """
    n, kinds = state.agents.shape[0], rules.collect.shape[0]
    rows, cols = state.material.shape
    reach = 0
    for resource in range(kinds):
        reach = max(reach, rules.collect[resource, REACH])
    parts = np.full((n, 2), -1, np.int64)
    tools = np.zeros((n, kinds), np.uint8)
    cells = np.empty((n * (2 * reach * reach + 2 * reach + 1), 2), np.int64)
    count = 0
    for i in range(n):
        if state.agents[i, DEAD]:
            continue
        for resource in range(kinds):
            tools[i, resource] = has_tool(state, rules, i, resource)
        if not (state.agents[i, SLEEPING] and state.inventory[i, ENERGY] < MOST):
            resource, cell = part_of(state, rules, i, actions[i])
            parts[i, 0], parts[i, 1] = resource, cell
        row, col = state.agents[i, ROW], state.agents[i, COL]
        for r in range(max(0, row - reach), min(rows, row + reach + 1)):
            width = reach - abs(r - row)
            for c in range(max(0, col - width), min(cols, col + width + 1)):
                resource = resource_at(state, r, c)
                if resource >= 0 and resource != R_GRASS:
                    cells[count, 0], cells[count, 1] = r * cols + c, resource
                    count += 1
    return parts, cells[:count], tools


def active_tasks(
    state: CrafterState, cells: list[list[int]], parts: list[list[int]], named: frozenset[TaskId], hints: Hints | None
) -> dict[int, TaskId]:
    """G_t as cell number -> task: what lies within reach, is acted on, or is named by a plan; by cell."""
    cols = state.shape[1]
    numbers = {cell for cell, _ in cells} | {cell for _, cell in parts if cell >= 0}
    for name in named:
        place = place_of(state, name, hints)
        if place is not None:
            numbers.add(place[0] * cols + place[1])
    tasks = {number: task_at(state, *divmod(number, cols)) for number in sorted(numbers)}
    return {number: task for number, task in tasks.items() if task is not None}


def constraints(
    state: CrafterState,
    rules: Rules,
    actions: Mapping[AgentId, Move],
    named: frozenset[TaskId],
    hints: Hints | None = None,
) -> dict[TaskId, TaskConstraints]:
    """The active tasks and who satisfies what under this joint action, taken in this state.

    `hints` are kept between calls by the caller, so that named tasks are found without a scan.
    """
    names = agent_names(state.team)
    primitives = np.array([primitive_of(actions[agent]) for agent in names], np.int64)
    found_parts, found_cells, found_tools = survey(state, rules, primitives)
    parts, tools = found_parts.tolist(), found_tools.tolist()
    tasks = active_tasks(state, found_cells.tolist(), parts, named, hints)
    living = [(name, *body) for name, body in zip(names, _bodies(state.agents), strict=True) if body[0] >= 0]
    return {
        task: _judge(number, task, state.shape[1], rules, (names, living, parts, tools))
        for number, task in tasks.items()
    }


def _bodies(agents: Ints) -> list[tuple[int, int]]:
    """The cell of each agent; (-1, -1) for the dead."""
    return [(-1, -1) if a[DEAD] else (a[ROW], a[COL]) for a in agents.tolist()]


_Team = tuple[tuple[AgentId, ...], list[tuple[AgentId, int, int]], list[list[int]], list[list[int]]]


def _judge(number: int, task: TaskId, cols: int, rules: Rules, team: _Team) -> TaskConstraints:
    """One task: who is near, acts on it and has the tool."""
    names, living, parts, tools = team
    row, col = divmod(number, cols)
    resource = RESOURCES.index(task.partition("_")[0])
    required, reach = int(rules.collect[resource, REQUIRED]), int(rules.collect[resource, REACH])
    spatial = frozenset(name for name, r, c in living if abs(r - row) + abs(c - col) <= reach)
    acting = frozenset(name for name, part in zip(names, parts, strict=True) if part == [resource, number])
    able = frozenset(name for name, has in zip(names, tools, strict=True) if has[resource])
    satisfied = {
        Constraint.SPATIAL: spatial,
        Constraint.TEMPORAL: acting,
        Constraint.DEPENDENCY: able,
        Constraint.PARTICIPATION: spatial & acting & able,
    }
    return TaskConstraints(required, satisfied, attempting=acting)
