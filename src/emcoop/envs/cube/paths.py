"""Paths for several bodies at once: shortest paths over free cells, reservations, and matching bodies to cells.

All of it is plain and deterministic: ties go to the smaller primitive, row, column or index.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from emcoop.envs.cube.state import DCOL, DOWN, DROW, LEFT, RIGHT, STAY, UP

Cell: TypeAlias = tuple[int, int]

MOVES = (STAY, UP, DOWN, LEFT, RIGHT)


def shifted(cell: Cell, primitive: int, times: int = 1) -> Cell:
    """The cell `times` primitives away."""
    return cell[0] + times * DROW[primitive], cell[1] + times * DCOL[primitive]


def inside(cell: Cell, side: int) -> bool:
    """Whether the cell lies in a grid of this side."""
    return 0 <= cell[0] < side and 0 <= cell[1] < side


def distances(side: int, sources: Iterable[Cell], solid: Collection[Cell]) -> dict[Cell, int]:
    """Steps from every reachable cell to the nearest of `sources`, around solid cells; solid sources do not count."""
    found = {cell: 0 for cell in sources if inside(cell, side) and cell not in solid}
    queue = deque(found)
    while queue:
        cell = queue.popleft()
        for primitive in (UP, DOWN, LEFT, RIGHT):
            other = shifted(cell, primitive)
            if inside(other, side) and other not in solid and other not in found:
                found[other] = found[cell] + 1
                queue.append(other)
    return found


def match(costs: Mapping[tuple[int, int], int], slots: int) -> dict[int, int] | None:
    """Give each of the slots 0..slots-1 an agent such that the largest cost is as small as possible.

    `costs[agent, slot]` has the pairs that are possible at all. Returns slot -> agent, or None when there is no
    complete matching.
    """
    taken: dict[int, int] = {}
    edges: dict[int, list[int]] = {slot: [] for slot in range(slots)}

    def augment(slot: int, seen: set[int]) -> bool:
        for agent in edges[slot]:
            if agent in seen:
                continue
            seen.add(agent)
            holder = next((s for s, a in taken.items() if a == agent), None)
            if holder is None or augment(holder, seen):
                taken[slot] = agent
                return True
        return False

    for (agent, slot), _ in sorted(costs.items(), key=lambda item: (item[1], item[0])):
        edges[slot].append(agent)
        for open_slot in range(slots):
            if open_slot not in taken:
                augment(open_slot, set())
        if len(taken) == slots:
            return dict(sorted(taken.items()))
    return None


@dataclass(slots=True)
class Reservations:
    """Who is where, when. A cell is free for a body at time t if nobody else is there at t - 1, t and t + 1.

    The margin keeps bodies from following, swapping and circling: every reserved path can be walked whatever the
    rules say about these. `starts` has everybody's cell at time 0, which closes it to all others at time 1.
    """

    times: dict[Cell, set[int]] = field(default_factory=dict)
    rests: dict[Cell, int] = field(default_factory=dict)
    starts: frozenset[Cell] = frozenset()

    def copy(self) -> Reservations:
        """An independent copy."""
        return Reservations({cell: set(times) for cell, times in self.times.items()}, dict(self.rests), self.starts)

    def add(self, cell: Cell, time: int) -> None:
        """Somebody is in this cell at this time."""
        self.times.setdefault(cell, set()).add(time)

    def walk(self, path: Sequence[Cell], start: int = 0) -> None:
        """Somebody is in these cells at the times from `start` on."""
        for time, cell in enumerate(path, start):
            self.add(cell, time)

    def rest(self, cell: Cell, time: int) -> None:
        """Somebody stays in this cell from this time on."""
        self.rests[cell] = min(time, self.rests.get(cell, time))

    def free(self, cell: Cell, time: int, start: Cell | None = None) -> bool:
        """Whether the body that starts at `start` may be in this cell at this time (1 or later)."""
        if time == 1 and cell in self.starts and cell != start:
            return False
        if self.rests.get(cell, time + 2) <= time + 1:
            return False
        times = self.times.get(cell)
        return times is None or not (time in times or time - 1 in times or time + 1 in times)

    def free_from(self, cell: Cell, time: int) -> bool:
        """Whether a body may stay in this cell from this time on."""
        if cell in self.rests:
            return False
        times = self.times.get(cell)
        return times is None or max(times) < time - 1


def walk_to(
    start: Cell, goals: Mapping[Cell, int], solid: Collection[Cell], side: int, held: Reservations, latest: int
) -> list[Cell] | None:
    """The quickest path from `start` at time 0 to a cell where the body may rest for ever; None within `latest` steps.

    `goals` maps every cell from which a goal can be reached to its distance from the nearest goal (see
    `distances`); the goals are the cells at distance 0. The path has one cell per time, the start first.
    """
    if start not in goals:
        return None
    came: dict[tuple[Cell, int], Cell | None] = {(start, 0): None}
    heap = [(goals[start], 0, start)]
    while heap:
        _, late, cell = heapq.heappop(heap)
        time = -late
        if goals[cell] == 0 and held.free_from(cell, time):
            return _trace(came, cell, time)
        if time == latest:
            continue
        for primitive in MOVES:
            other = shifted(cell, primitive)
            key = (other, time + 1)
            if other not in goals or other in solid or key in came or not held.free(other, time + 1, start):
                continue
            came[key] = cell
            heapq.heappush(heap, (time + 1 + goals[other], -(time + 1), other))
    return None


def _trace(came: Mapping[tuple[Cell, int], Cell | None], cell: Cell, time: int) -> list[Cell]:
    path = [cell]
    before = came[cell, time]
    while before is not None:
        path.append(before)
        time -= 1
        before = came[before, time]
    return path[::-1]
