"""How much simulated time a decision takes.

`tokens` (default) declares it from what was read and written, so it does not depend on the machine; `constant`
is the same for every decision; `measured` takes real time (not repeatable, and said so in the log); `recorded`
takes the latencies of an earlier log in order, per agent.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from pydantic import Field

from emcoop.agents.base import Decision
from emcoop.core.canonical import canonical_json
from emcoop.core.config import StrictModel
from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.core.types import SECOND, AgentId, Micros


class LatencyConfig(StrictModel):
    """Parameters of a latency model, in seconds.

    `jitter` spreads `tokens` and `constant` by up to that share; `log` is the earlier run that `recorded` follows.
    """

    kind: Literal["tokens", "constant", "measured", "recorded"] = "tokens"
    base_s: float = Field(default=0.5, ge=0)
    per_input_token_s: float = Field(default=0.0001, ge=0)
    per_output_token_s: float = Field(default=0.02, ge=0)
    constant_s: float = Field(default=1.0, ge=0)
    jitter: float = Field(default=0.0, ge=0, lt=1)
    log: str | None = None


class Latency(Protocol):
    """The simulated duration of a decision, asked once for each, in simulated order per agent."""

    @property
    def least(self) -> Micros:
        """No decision takes less; 0 where that is not known."""
        ...

    def __call__(self, agent: AgentId, decision: Decision[Any]) -> Micros: ...


CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb; it prices the answers of agents that make no model call."""


class _Tokens:
    def __init__(self, config: LatencyConfig, seed: int) -> None:
        self.config = config
        self.seed = seed
        self.streams: dict[AgentId, Stream] = {}
        # `spread` multiplies by this at least; one microsecond for what rounding may do.
        self.least = max(0, round(self.base_s() * (1 - config.jitter) * SECOND) - 1)

    def base_s(self) -> float:
        """What a decision takes at least, before it is spread."""
        return self.config.base_s

    def spread(self, agent: AgentId, seconds: float) -> Micros:
        if self.config.jitter:
            stream = self.streams.setdefault(agent, Stream.named(self.seed, "latency", agent))
            seconds *= 1 + self.config.jitter * (2 * stream.uniform() - 1)
        return round(seconds * SECOND)

    def __call__(self, agent: AgentId, decision: Decision[Any]) -> Micros:
        usage, c = decision.usage, self.config
        if decision.calls:
            # What a provider has cached is its own business and may differ between runs; it does not count here.
            read, written = usage.input_tokens, usage.output_tokens
        else:
            value = decision.value
            shown = value.to_json() if hasattr(value, "to_json") else value
            read, written = 0, len(canonical_json(shown)) // CHARACTERS_PER_TOKEN
        calls = max(1, usage.calls)
        seconds = c.base_s * calls + c.per_input_token_s * read + c.per_output_token_s * written
        return self.spread(agent, seconds)


class _Constant(_Tokens):
    def base_s(self) -> float:
        return self.config.constant_s

    def __call__(self, agent: AgentId, decision: Decision[Any]) -> Micros:
        return self.spread(agent, self.config.constant_s)


class _Measured:
    least = 0

    def __call__(self, agent: AgentId, decision: Decision[Any]) -> Micros:
        return round(decision.measured_s * SECOND)


class _Recorded:
    def __init__(self, recorded: Mapping[AgentId, Sequence[Micros]]) -> None:
        self.left = defaultdict(deque, {agent: deque(values) for agent, values in recorded.items()})
        self.least = min((min(values) for values in recorded.values() if values), default=0)

    def __call__(self, agent: AgentId, decision: Decision[Any]) -> Micros:
        if not self.left[agent]:
            raise ConfigError(f"the recorded latencies of {agent} are used up: the log they come from is shorter")
        return self.left[agent].popleft()


def make_latency(
    config: LatencyConfig, seed: int, recorded: Mapping[AgentId, Sequence[Micros]] | None = None
) -> Latency:
    """The latency model of this configuration. Raises ConfigError for `recorded` without a record."""
    if config.kind == "constant":
        return _Constant(config, seed)
    if config.kind == "measured":
        return _Measured()
    if config.kind == "recorded":
        if recorded is None:
            raise ConfigError("latency 'recorded' needs the log of an earlier run to take the latencies from")
        return _Recorded(recorded)
    return _Tokens(config, seed)
