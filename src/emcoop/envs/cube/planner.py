"""The central planner of CUBE: from a whole board to one joint plan, purely and deterministically.

It plans one *phase* at a time: groups of agents walk to the left faces of blocks whose way to the goal column is
clear, and push them in step; everybody else keeps out of their way. A phase lasts until the first block is delivered.
Every agent that plans from the same board finds the same joint plan, so a team of planners needs no messages.

Guaranteed (and tested) where blocks touch neither walls nor one another at the start: the block whose right edge is
furthest to the right has a clear way, and its left face can be reached. Elsewhere it does its best: blocks in the
way are pushed along as a chain, with agents in lines behind the face; a block that blocks a face is pushed aside first.

The cost of a phase grows steeply with the team: milliseconds for teams up to 8 on the small levels, about a second
for 20 to 50 agents in the curriculum, minutes above 60.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise

from emcoop.envs.cube.board import (
    Board,
    Job,
    carried_out,
    delivery_jobs,
    play,
    preparing_jobs,
)
from emcoop.envs.cube.paths import Cell, Reservations, distances, match, shifted, walk_to
from emcoop.envs.cube.state import DCOL, DOWN, DROW, LEFT, RIGHT, STAY, UP

LONGEST_RUN = 10
"""The largest step count of one symbolic action."""
MOST_ACTIONS = 8
"""The largest number of symbolic actions of one plan."""
SEARCHED_BLOCKS = 4
"""Up to so many blocks, every choice of the first block is played to the end; above, an estimate decides."""


@dataclass(frozen=True, slots=True)
class Part:
    """One agent's part in a job: its slot, counted along the face, then in the lines behind; when its push begins."""

    task: str
    block: int
    slot: int
    cell: Cell
    at_face: bool
    begin: int


@dataclass(frozen=True, slots=True)
class JointPlan:
    """What everybody does: `steps[t][i]` is agent i's primitive in step t; `parts[i]` its part, None without work."""

    steps: tuple[tuple[int, ...], ...]
    parts: tuple[Part | None, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """The same primitive `length` times; a push of this block, if there is one."""

    primitive: int
    length: int
    block: int | None = None


# -- who does it, and how ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """A job and its agents, one for each slot, with the time at which the last of them could arrive at best."""

    job: Job
    members: tuple[int, ...]
    arrival: int

    @property
    def finish(self) -> int:
        """The time of the end at best."""
        return self.arrival + self.job.pushes


@lru_cache(maxsize=512)
def _costs(board: Board, job: Job) -> Mapping[tuple[int, int], int]:
    """Steps around blocks from every agent to every slot of the job, where there is a way: (agent, slot) -> steps."""
    solid = board.solid()
    costs: dict[tuple[int, int], int] = {}
    for slot, cell in enumerate(job.slots):
        away = distances(board.side, [cell], solid)
        costs |= {(i, slot): away[here] for i, here in enumerate(board.agents) if here in away}
    return costs


def form(board: Board, job: Job, agents: Collection[int]) -> Group | None:
    """The agents that can be at the job's slots first, or None if there are too few that can get there."""
    costs = {pair: steps for pair, steps in _costs(board, job).items() if pair[0] in agents}
    matched = match(costs, len(job.slots))
    if matched is None:
        return None
    members = tuple(matched[slot] for slot in range(len(job.slots)))
    return Group(job, members, max(costs[i, slot] for slot, i in matched.items()))


Paths = dict[int, list[Cell]]


def _assemble(board: Board, group: Group, held: Reservations) -> Paths | None:
    """Paths of the members to their slots, where each may rest.

    Who arrives first may close a narrow way for the others, so some orders are tried: the longest way first, and
    from either end of the face. The one that is complete first is kept.
    """
    solid, job = board.solid(), group.job
    latest = 6 * board.side + 2 * len(board.agents)
    slots = range(len(group.members))
    ways = [distances(board.side, [cell], solid) for cell in job.slots]
    by_way = sorted(slots, key=lambda slot: (-ways[slot][board.agents[group.members[slot]]], slot))
    found: list[Paths] = []
    for order in dict.fromkeys((tuple(by_way), tuple(reversed(slots)), tuple(slots))):
        own, paths = held.copy(), dict[int, list[Cell]]()
        for slot in order:
            i = group.members[slot]
            path = walk_to(board.agents[i], ways[slot], solid, board.side, own, latest)
            if path is None:
                break
            own.walk(path)
            own.rest(path[-1], len(path) - 1)
            paths[i] = path
        else:
            found.append(paths)
    return min(found, key=lambda paths: max(map(len, paths.values())), default=None)


def _walk_group(board: Board, group: Group, held: Reservations) -> tuple[Paths, int] | None:
    """Paths of a group's members to the end of their push, and its time; None if there are none.

    They and the cells of the blocks that move are reserved in `held`.
    """
    job = group.job
    paths = _assemble(board, group, held)
    if paths is None:
        return None
    latest = 6 * board.side + 2 * len(board.agents)
    ready = max(len(path) for path in paths.values()) - 1
    for begin in range(ready, latest + 1):
        full = {i: path + [path[-1]] * (begin + 1 - len(path)) for i, path in paths.items()}
        for path in full.values():
            path += [shifted(path[-1], job.direction, s + 1) for s in range(job.pushes)]
        clear = all(held.free(cell, t, path[0]) for path in full.values() for t, cell in enumerate(path) if t)
        if clear and all(held.free(cell, begin + s) for s, cells in enumerate(job.sweep) if s for cell in cells):
            break
    else:
        return None
    for path in full.values():
        held.walk(path)
        held.rest(path[-1], len(path) - 1)
    for s, cells in enumerate(job.sweep):
        for cell in cells:
            held.add(cell, begin + s)
    if not job.delivers:
        for cell in job.sweep[-1]:
            held.rest(cell, begin + job.pushes)
    return full, begin + job.pushes


def _walk_away(board: Board, agent: int, keep_out: set[Cell], held: Reservations) -> list[Cell] | None:
    """The path of an agent without work to a cell where it is in nobody's way."""
    solid, side = board.solid(), board.side
    resting = [(r, c) for r in range(side) for c in range(side) if (r, c) not in keep_out]
    goals = distances(side, resting, solid)
    path = walk_to(board.agents[agent], goals, solid, side, held, 6 * side)
    if path is not None:
        held.walk(path)
        held.rest(path[-1], len(path) - 1)
    return path


def _route(board: Board, groups: Sequence[Group]) -> tuple[Paths, dict[int, int]] | None:
    """Paths of everybody, and by the pushed block's id the time of each end.

    Whoever finds no path is given precedence over all others, and all is tried again.
    """
    keep_out = {cell for group in groups for cell in group.job.lane()}
    busy = {i for group in groups for i in group.members}
    order: list[Group | int] = [*groups, *(i for i in range(len(board.agents)) if i not in busy)]
    for _ in range(2 * len(order) + 2):
        held = Reservations(starts=frozenset(board.agents))
        paths: Paths = {}
        ends: dict[int, int] = {}
        for unit in order:
            if isinstance(unit, Group):
                walked = _walk_group(board, unit, held)
                if walked is None:
                    break
                paths |= walked[0]
                ends[unit.job.block.id] = walked[1]
            else:
                away = _walk_away(board, unit, keep_out, held)
                if away is None:
                    break
                paths[unit] = away
        else:
            return paths, ends
        if order[0] is unit:
            return None
        order.remove(unit)
        order.insert(0, unit)
    return None


def _joint(board: Board, groups: Sequence[Group]) -> JointPlan | None:
    """The groups' joint plan, if there are paths and the world's own rules carry it out as meant."""
    routed = _route(board, groups)
    if routed is None:
        return None
    paths, ends = routed
    end = min(ends.values())
    n = len(board.agents)
    moves = [_primitives(paths[i], end) for i in range(n)]
    steps = tuple(tuple(moves[i][t] for i in range(n)) for t in range(end))
    if not steps or not carried_out(board, steps):
        return None
    parts: list[Part | None] = [None] * n
    for group in groups:
        job = group.job
        for slot, i in enumerate(group.members):
            begin = ends[job.block.id] - job.pushes
            parts[i] = Part(job.task, job.block.id, slot, job.slots[slot], slot < job.block.weight, begin)
    return JointPlan(steps, tuple(parts))


def _primitives(path: Sequence[Cell], steps: int) -> list[int]:
    by_shift = {(DROW[d], DCOL[d]): d for d in (STAY, UP, DOWN, LEFT, RIGHT)}
    found = [by_shift[b[0] - a[0], b[1] - a[1]] for a, b in pairwise(path)][:steps]
    return found + [STAY] * (steps - len(found))


# -- the choice ----------------------------------------------------------------------------------------------------


def _teams(board: Board, first: Group, jobs: Sequence[Job]) -> list[Group]:
    """`first`, and further groups of the agents that it leaves free, quickest first, on blocks apart from its own."""
    groups = [first]
    free = [i for i in range(len(board.agents)) if i not in first.members]
    left = [job for job in jobs if job.block != first.job.block]
    while free and left:
        formed = [g for job in left if (g := form(board, job, free)) is not None]
        if not formed:
            break
        best = min(formed, key=lambda g: (g.finish, -g.job.block.weight, g.job.block.id))
        left.remove(best.job)
        if _joint(board, [*groups, best]) is not None:
            groups.append(best)
            free = [i for i in free if i not in best.members]
    return groups


def phases(board: Board) -> Iterator[JointPlan]:
    """The joint plans that the planner considers, one for each block that could be first; the best guess first."""
    jobs = delivery_jobs(board)
    everyone = range(len(board.agents))
    groups = [g for job in jobs if (g := form(board, job, everyone)) is not None]
    groups.sort(key=lambda g: (-g.job.block.weight, g.finish, g.job.block.id))
    for group in groups:
        if (plan := _joint(board, _teams(board, group, jobs))) is not None:
            yield plan


def _preparation(board: Board) -> JointPlan | None:
    for job in preparing_jobs(board):
        group = form(board, job, range(len(board.agents)))
        if group is not None and (plan := _joint(board, [group])) is not None:
            return plan
    return None


@lru_cache(maxsize=256)
def next_phase(board: Board) -> JointPlan | None:
    """The phase to play now; None when nothing is left to do or nothing can be done.

    With few blocks every choice of the first block is played to the end and the shortest kept.
    """
    if len(board.blocks) > SEARCHED_BLOCKS:
        return next(phases(board), None) or _preparation(board)
    best = _search(board)
    return best[2] if best is not None else _preparation(board)


@lru_cache(maxsize=1024)
def _search(board: Board) -> tuple[int, int, JointPlan] | None:
    """(blocks left at the end, steps, first phase) of the best sequence of phases; None when there is no phase."""
    best: tuple[int, int, JointPlan] | None = None
    for plan in phases(board):
        after, _ = play(board, plan.steps)
        rest = _search(after) if after.blocks else None
        left, steps = (rest[0], rest[1]) if rest else (len(after.blocks), 0)
        if best is None or (left, steps + len(plan.steps)) < best[:2]:
            best = (left, steps + len(plan.steps), plan)
    return best


def runs(plan: JointPlan, agent: int) -> list[Run]:
    """One agent's primitives as runs that symbolic actions can hold."""
    part = plan.parts[agent]
    begin = part.begin if part is not None else len(plan.steps)
    found: list[Run] = []
    for (primitive, pushing), run in groupby((step[agent], t >= begin) for t, step in enumerate(plan.steps)):
        left = len(list(run))
        block = part.block if part is not None and pushing and part.at_face else None
        while left:
            found.append(Run(primitive, min(left, LONGEST_RUN), block))
            left -= found[-1].length
    return found


def cut(plan: JointPlan) -> int:
    """How many of its steps fit into one symbolic plan of every agent: at most `MOST_ACTIONS` runs for each."""
    fits = (sum(run.length for run in runs(plan, i)[:MOST_ACTIONS]) for i in range(len(plan.parts)))
    return min(fits, default=0)


def share(plan: JointPlan, agent: int) -> list[Run]:
    """One agent's runs, as many steps of them as fit into everybody's symbolic plan."""
    left = cut(plan)
    found: list[Run] = []
    for run in runs(plan, agent):
        if left:
            found.append(replace(run, length=min(run.length, left)))
            left -= found[-1].length
    return found
