"""How long decisions take in simulated time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.episode.seats import Listed, played

from emcoop.agents.base import Decision
from emcoop.core.errors import ConfigError
from emcoop.core.types import Outgoing, Usage
from emcoop.envs.cube.env import make
from emcoop.episode.latency import LatencyConfig, make_latency
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.study import log_path, play
from emcoop.log.reader import LogReader
from emcoop.models.base import Call
from emcoop.topologies import decentralized

CALLED = Decision(
    None, usage=Usage(input_tokens=1000, output_tokens=50, cached_tokens=900, calls=2), calls=(Call((), "", None),)
)


def seconds(config: LatencyConfig, decision: Decision[Any], **more: Any) -> float:
    return make_latency(config, 0, **more)("agent_0", decision) / 1e6


def test_tokens_are_priced_as_declared_and_what_a_provider_cached_does_not_count() -> None:
    # 2 calls of 0.5 s, 1000 tokens read at 0.0001 s, 50 written at 0.02 s.
    assert seconds(LatencyConfig(), CALLED) == pytest.approx(1.0 + 0.1 + 1.0)


def test_an_agent_without_a_model_pays_for_what_it_writes() -> None:
    short, long = (Decision(Outgoing(("agent_1",), "x" * n)) for n in (4, 400))
    assert seconds(LatencyConfig(), long) - seconds(LatencyConfig(), short) == pytest.approx(99 * 0.02)


def test_constant_and_measured_take_what_they_say() -> None:
    assert seconds(LatencyConfig(kind="constant", constant_s=2.5), CALLED) == 2.5
    assert seconds(LatencyConfig(kind="measured"), Decision(None, measured_s=0.25)) == 0.25


def test_jitter_spreads_by_at_most_its_share_and_depends_on_the_seed_alone() -> None:
    config = LatencyConfig(kind="constant", jitter=0.2)
    first, again = (make_latency(config, 7) for _ in range(2))
    drawn = [first("agent_0", CALLED) for _ in range(200)]
    assert drawn == [again("agent_0", CALLED) for _ in range(200)]
    assert min(drawn) >= 800_000
    assert max(drawn) <= 1_200_000
    assert len(set(drawn)) > 100


def test_recorded_latencies_of_a_run_repeat_its_timeline(tmp_path: Path) -> None:
    def timeline(run: Path, **settings: Any) -> list[tuple[int, str]]:
        matrix = Matrix(env="cube", agents=2, topology="decentralized", seeds="0", set=settings, references=())
        assert asyncio.run(play(matrix.study(), run)) == []
        with LogReader.open(log_path(run)) as reader:
            return [(e.cog_time, e.kind) for e in reader.events(1)]

    first = timeline(tmp_path / "a", **{"latency.jitter": 0.5})
    again = timeline(tmp_path / "b", **{"latency.kind": "recorded", "latency.log": str(tmp_path / "a")})
    assert first == again


def test_recorded_needs_a_record_that_is_long_enough() -> None:
    config = LatencyConfig(kind="recorded")
    with pytest.raises(ConfigError, match="needs the log"):
        make_latency(config, 0)
    latency = make_latency(config, 0, {"agent_0": [5]})
    assert latency("agent_0", CALLED) == 5
    with pytest.raises(ConfigError, match="agent_0 are used up"):
        latency("agent_0", CALLED)


def test_messages_cost_their_price(tmp_path: Path) -> None:
    env = make(2, "easy")
    said = [Outgoing(("agent_1",), "one"), Outgoing(("agent_1",), "two")]
    topology = decentralized.make(("agent_0", "agent_1"), price_usd=0.25)
    outcome, _, _ = asyncio.run(played(tmp_path, topology, [Listed(env, messages=said), Listed(env)], env, max_steps=1))
    assert outcome.usage.cost_usd == 0.5
