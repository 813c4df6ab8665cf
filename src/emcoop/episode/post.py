"""Messages between agents: admission, budgets, loss, delay and delivery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from emcoop.core.seeds import Stream, derive
from emcoop.core.types import AgentId, Json, Message, Micros, Outgoing, agent_index
from emcoop.episode.clock import Clock
from emcoop.topologies.base import Topology


class Record(Protocol):
    """Write one event at the present simulated time."""

    def __call__(self, kind: str, payload: dict[str, Json], agent: AgentId | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Tampering:
    """What a counterfactual does to one message on its way: lose it, delay it further, or change its words."""

    lost: bool = False
    delay: Micros = 0
    content: str | None = None


_UNTOUCHED = Tampering()


class Post:
    """Carries messages along a topology's edges. Everything refused or lost is an event, never silent.

    Budgets count per decision step: `new_step` starts the next one.
    """

    def __init__(
        self,
        topology: Topology,
        clock: Clock,
        record: Record,
        seed: int,
        deliver: Callable[[Message, AgentId], None],
    ) -> None:
        team = topology.team
        channel = topology.channel
        self.channel = channel
        self.send_budget = len(team) if channel.sends is None else channel.sends
        self.receive_budget = len(team) if channel.receives is None else channel.receives
        self.reach = {agent: frozenset(topology.hears(agent)) for agent in team}
        self.on_the_way: Counter[tuple[AgentId, AgentId]] = Counter()
        self.spent_usd = 0.0
        self.tampered: Mapping[int, Tampering] = {}
        self._clock = clock
        self._record = record
        self._seed = seed
        self._deliver = deliver
        self._team = team
        self._sent: Counter[AgentId] = Counter()
        self._received: Counter[AgentId] = Counter()
        self._count = 0

    def new_step(self) -> None:
        """Renew every budget."""
        self._sent.clear()
        self._received.clear()

    def sends_left(self, agent: AgentId) -> int:
        """How many more messages the agent may send in this decision step."""
        return max(0, self.send_budget - self._sent[agent])

    def send(self, sender: AgentId, wanted: Outgoing, step: int) -> Message | None:
        """Admit a message and put it on its way; None when nothing of it was admitted."""
        recipients = self._admit(sender, wanted)
        if not recipients:
            return None
        self._sent[sender] += 1
        self._count += 1
        message = Message(self._count, sender, recipients, wanted.content, self._clock.now, step)
        self.spent_usd += self.channel.price_usd
        payload: dict[str, Json] = {"id": message.id, "to": list(recipients), "content": message.content}
        self._record("message_sent", {**payload, "price": self.channel.price_usd}, sender)
        for recipient in recipients:
            self._dispatch(message, recipient)
        return message

    def _admit(self, sender: AgentId, wanted: Outgoing) -> tuple[AgentId, ...]:
        """The recipients that the message may go to, each once, in index order; refusals are recorded."""

        def refuse(reason: str, to: list[AgentId]) -> None:
            content = wanted.content[: self.channel.max_chars]
            self._record("message_refused", {"id": None, "reason": reason, "to": to, "content": content}, sender)

        asked = set(wanted.recipients) - {sender}
        unknown = sorted(asked - set(self._team))
        if unknown:
            refuse("unknown_recipient", unknown)
        far = sorted((asked & set(self._team)) - self.reach[sender])
        if far:
            refuse("not_connected", far)
        good = tuple(agent for agent in self._team if agent in asked and agent in self.reach[sender])
        if not good:
            if not asked:
                refuse("unknown_recipient", list(wanted.recipients))
            return ()
        for reason, wrong in (
            ("empty", not wanted.content.strip()),
            ("too_long", len(wanted.content) > self.channel.max_chars),
            ("send_budget", not self.sends_left(sender)),
        ):
            if wrong:
                refuse(reason, list(good))
                return ()
        return good

    def _dispatch(self, message: Message, recipient: AgentId) -> None:
        draw = Stream(derive(self._seed, "channel", message.id, recipient)).uniform()
        changed = self.tampered.get(message.id, _UNTOUCHED)
        if draw < self.channel.loss or changed.lost:
            self._record("message_lost", {"id": message.id, "to": recipient}, message.sender)
            return
        self.on_the_way[message.sender, recipient] += 1
        arrival = self._clock.now + self.channel.delay + changed.delay
        copy = message if changed.content is None else replace(message, content=changed.content)
        self._clock.at(arrival, agent_index(recipient), lambda: self._arrive(copy, recipient))

    def _arrive(self, message: Message, recipient: AgentId) -> None:
        self.on_the_way[message.sender, recipient] -= 1
        if self._received[recipient] >= self.receive_budget:
            payload = {"id": message.id, "reason": "receive_budget", "to": [recipient], "content": message.content}
            self._record("message_refused", payload, recipient)
            return
        self._received[recipient] += 1
        self._record("message_delivered", {"id": message.id, "from": message.sender}, recipient)
        self._deliver(message, recipient)
