"""What a seat and the journal need of the episode around them; the loop's `Table` is it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel

from emcoop.core.types import AgentId, Json
from emcoop.envs.base import AnyEnvironment
from emcoop.episode.clock import Clock
from emcoop.episode.latency import Latency
from emcoop.episode.post import Post
from emcoop.topologies.base import Topology


class Neighbour(Protocol):
    """Another seat, as far as a protocol may know of it."""

    @property
    def busy(self) -> bool:
        """Whether its turn goes on."""
        ...

    @property
    def has_spoken(self) -> bool:
        """Whether its turn has passed the point at which it speaks."""
        ...


class Surroundings(Protocol):
    """The world, the clock, the post and the log of one episode."""

    env: AnyEnvironment
    topology: Topology
    clock: Clock
    post: Post
    latency: Latency
    seed: int
    step: int
    state: Any
    watch: Callable[[int], None]

    @property
    def deliberating(self) -> Sequence[AgentId]:
        """The agents that deliberate at this decision step."""
        ...

    @property
    def seats(self) -> Mapping[AgentId, Neighbour]:
        """Everybody at the table."""
        ...

    def record(
        self,
        kind: str,
        payload: dict[str, Json],
        agent: AgentId | None = None,
        host: Mapping[str, Json] | None = None,
    ) -> None:
        """Write one event at the present simulated time."""
        ...

    def blob(self, data: bytes | str) -> str:
        """Keep data by its content; returns its name."""
        ...

    def lasting_blob(self, text: str) -> str:
        """The same for a text that comes again and again."""
        ...

    def observation(self, agent: AgentId) -> BaseModel:
        """What the agent sees now."""
        ...

    def observation_blob(self, agent: AgentId) -> str:
        """The name under which the log keeps what the agent sees now."""
        ...

    def next_plan_id(self) -> int:
        """Plans are numbered through the episode."""
        ...
