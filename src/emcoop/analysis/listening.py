"""Who does not listen: whose words, plans and moves stay the same when no message reaches it.

A screen of faculties shows a deaf seat as its plan, since that is where what it heard would have been used; so it looks
like a seat that plans badly. This comparison tells the two apart. Each seat is made deaf in a cell of its own (see
`emcoop.experiment.factorial.by_listening`) and its episodes are laid beside those of the untouched team, seed by seed.
Up to the first difference the whole team was told the same, so a difference can only come from what the seat did with
its messages; a seat that never uses them makes none. Agents that answer the same question differently (a language
model without the cache of answers) differ in any case, and are never named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from emcoop.analysis.stats import Estimate, rate
from emcoop.core.canonical import canonical_json
from emcoop.core.types import AgentId, Json
from emcoop.metrics import Event

KINDS = ("message_sent", "message_read", "plan_committed", "step")
"""The kinds of events that are read."""

MOST = 0.25
"""A seat is named when, by Wilson's interval, its messages matter in less than this share of seeds (from 12 on)."""


FEWEST = 12
"""With fewer seeds no seat can be named, even if nothing ever changes."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """What a team said, planned and did in one episode, in order, and how many messages each agent read."""

    deeds: tuple[bytes, ...]
    read: Mapping[AgentId, int]


@dataclass(frozen=True, slots=True)
class Listening:
    """One seat: the share of seeds in which being deaf changed anything, and the messages it read untouched."""

    agent: AgentId
    changed: Estimate
    read: int

    @property
    def deaf(self) -> bool:
        """Whether it read messages and none ever changed anything, in seeds enough to say so (MOST)."""
        return self.read > 0 and self.changed.mean == 0 and (self.changed.high or 0.0) < MOST

    def to_json(self) -> dict[str, Json]:
        """Plain JSON types."""
        return {"agent": self.agent, "changed": self.changed.to_json(), "read": self.read, "deaf": self.deaf}


def conduct(events: Iterable[Event]) -> Conduct:
    """The conduct in one episode's events; times are no part of it."""
    deeds: list[bytes] = []
    read: dict[AgentId, int] = {}
    for event in events:
        who, payload = event.agent or "", event.payload
        if event.kind == "message_sent":
            deeds.append(canonical_json([who, "says", payload["to"], payload["content"]]))
        elif event.kind == "plan_committed":
            deeds.append(canonical_json([who, "plans", payload["plan"]]))
        elif event.kind == "step":
            deeds.append(canonical_json(["all", "move", payload["actions"]]))
        elif event.kind == "message_read":
            read[who] = read.get(who, 0) + len(payload["ids"])
    return Conduct(tuple(deeds), read)


def listening(untouched: Mapping[int, Conduct], deafened: Mapping[AgentId, Mapping[int, Conduct]]) -> list[Listening]:
    """Every seat in the order of `deafened`, on the seeds that both have.

    `untouched` has the team's conduct by seed, `deafened` the same with one agent deaf.
    """
    return [_seat(agent, untouched, found) for agent, found in deafened.items()]


def deaf_seats(found: Sequence[Listening]) -> tuple[AgentId, ...]:
    """The seats that are named."""
    return tuple(seat.agent for seat in found if seat.deaf)


def _seat(agent: AgentId, untouched: Mapping[int, Conduct], found: Mapping[int, Conduct]) -> Listening:
    seeds = sorted(untouched.keys() & found.keys())
    changed = sum(untouched[seed].deeds != found[seed].deeds for seed in seeds)
    return Listening(agent, rate(changed, len(seeds)), sum(untouched[seed].read.get(agent, 0) for seed in seeds))
