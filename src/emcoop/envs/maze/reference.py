"""The reference policies of the maze: floors (random, noop, greedy, random-walk, half-map), scripted partners
(scripted, silent, noisy) and ceilings (oracles)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from emcoop.core.config import load
from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Plan
from emcoop.envs.maze.actions import Accept, Finish, Listen, Propose, Reject, step_task
from emcoop.envs.maze.scripted import NoisyOptions, NoisyPartner, Partner, SilentPartner
from emcoop.envs.maze.state import DIRECTIONS, WALL, Cell, MazeState, distances, moved
from emcoop.envs.maze.walker import Walker, seen
from emcoop.envs.policy import NoOptions, Policy, PolicyFactory, PolicySeat, PolicyView, Quiet


class Silent(Quiet):
    """Listens and says nothing, for ever: `noop`."""

    def __init__(self, seat: PolicySeat) -> None:
        self._seat = seat

    def plan(self, view: PolicyView) -> Plan:
        """Listen for one turn."""
        return Plan(NO_TASK, (Listen(),))


class RandomPolicy(Silent):
    """One uniformly random primitive of the dialogue at a time."""

    def plan(self, view: PolicyView) -> Plan:
        """Listen, propose one of four steps, accept, reject, or end; each with probability 1/8."""
        if seen(view).phase != "dialogue":
            return super().plan(view)
        k = Stream.named(view.seed, "maze", "random").below(8)
        if k < len(DIRECTIONS):
            return Plan(step_task(DIRECTIONS[k]), (Propose(direction=DIRECTIONS[k]),))  # type: ignore[arg-type]
        return Plan(NO_TASK, ((Listen(), Accept(), Reject(), Finish())[k - len(DIRECTIONS)],))


class HalfMap(Walker):
    """The shortest way on its own copy with hidden cells taken as free; accepts everything, says and hears nothing."""

    def choose(self, here: Cell) -> str | None:
        """A step of a shortest way; equal ones at random."""
        away = distances(self.own, self.goal, WALL)
        best = [d for d in DIRECTIONS if away.get(moved(here, d), 10**6) < away.get(here, 10**6)]
        return self.stream.choice(best) if best else self.stream.choice(self.steps(here) or DIRECTIONS)


class GreedyLocal(Walker):
    """The neighbouring cell nearest to the goal as the crow flies, never straight back unless it must."""

    def choose(self, here: Cell) -> str | None:
        """A step to the nearest neighbour that is not known as a wall; equal ones at random."""
        open_ = [d for d in self.steps(here) if moved(here, d) != self.before] or self.steps(here)
        if not open_:
            return self.stream.choice(DIRECTIONS)
        far = {d: abs(moved(here, d)[0] - self.goal[0]) + abs(moved(here, d)[1] - self.goal[1]) for d in open_}
        return self.stream.choice([d for d in open_ if far[d] == min(far.values())])


class RandomWalk(Walker):
    """A random neighbouring cell that is not known as a wall."""

    def choose(self, here: Cell) -> str | None:
        """Any step that its own copy allows, all equally likely."""
        return self.stream.choice(self.steps(here) or DIRECTIONS)


class Oracle(Partner):
    """Knows the whole maze; says it, so that whoever listens knows it, too."""

    privileged = True

    def look(self, view: PolicyView) -> None:
        """The whole maze instead of a copy."""
        super().look(view)
        if isinstance(view.state, MazeState):
            self.own = self.known = view.state.maze.rows

    def believed(self) -> tuple[str, ...]:
        """The whole maze, whatever others tell."""
        return self.own

    def waits(self) -> bool:
        """It has nothing to wait for."""
        return False


def _factory(make: Callable[[PolicySeat], Policy]) -> PolicyFactory:
    def seated(seat: PolicySeat) -> Policy:
        load(NoOptions, dict(seat.options), f"policy of {seat.agent}")
        return make(seat)

    return seated


def _noisy(seat: PolicySeat) -> Policy:
    return NoisyPartner(seat, load(NoisyOptions, dict(seat.options), f"policy of {seat.agent}"))


POLICIES: Mapping[str, PolicyFactory] = {
    "random": _factory(RandomPolicy),
    "noop": _factory(Silent),
    "greedy": _factory(GreedyLocal),
    "random-walk": _factory(RandomWalk),
    "half-map": _factory(HalfMap),
    "silent": _factory(SilentPartner),
    "noisy": _noisy,
    "scripted": _factory(Partner),
    "oracle": _factory(Oracle),
    "team-oracle": _factory(Oracle),
}
"""Each takes a seat; raises ConfigError for an option it does not have. The union of the copies is the maze, so
`team-oracle` knows what `oracle` knows."""
