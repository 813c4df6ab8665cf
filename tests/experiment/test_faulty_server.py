"""Whole episodes against a server that misbehaves: every run ends, and the log tells each fault and its cost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.models import faulty
from tests.models.faulty import FaultyServer

from emcoop.experiment.matrix import Matrix
from emcoop.experiment.study import log_path, play
from emcoop.log.events import Event
from emcoop.log.reader import LogReader

WAIT = json.dumps({"reasoning": "", "task": "none", "actions": [{"action_type": "wait", "num_steps": 1}]})


def faults_of(run: Path) -> list[list[str]]:
    """The kinds of fault of each model call, in order."""
    with LogReader.open(log_path(run)) as reader:
        facts = dict(reader.host(1))
        return [[f["kind"] for f in facts[e.seq]["faults"]] for e in reader.events(1, kinds=("model_call",))]


def events_of(server: FaultyServer, run: Path, steps: int, **options: Any) -> list[Event]:
    """One agent alone on CUBE, asking this server for every plan."""
    matrix = Matrix(
        env="cube",
        agents=1,
        agent="llm",
        model=f"openai:faulty@{server.url}",
        seeds="0",
        set={"limits.max_steps": steps},
        options={"timeout_s": 5.0, "max_tokens": 64, **options},
        references=(),
    )
    assert asyncio.run(play(matrix.study(), run)) == []
    with LogReader.open(log_path(run)) as reader:
        assert reader.check() == []
        return list(reader.events(1))


def test_every_fault_is_survived_and_told_with_its_cost(faulty_server: FaultyServer, tmp_path: Path) -> None:
    faulty_server.answer = lambda body: WAIT
    faulty_server.script = [
        faulty.rate_limited("0"),
        faulty.status(500),
        faulty.ok(),  # the first plan
        faulty.hang(),
        faulty.ok(),  # the second
        faulty.close(),
        faulty.truncated(),
        faulty.ok(),  # the third
        faulty.invalid_json(),
        faulty.wrong_shape(),
        faulty.ok(),  # the fourth
        faulty.ok("this is not JSON"),
        faulty.ok('{"valid": "but of another shape"}'),  # the fifth falls back to waiting
        faulty.endless(),
        faulty.ok(),  # the sixth
    ]
    events = events_of(faulty_server, tmp_path, 6)
    calls = [e.payload for e in events if e.kind == "model_call"]
    kinds = faults_of(tmp_path)
    assert kinds[:2] == [["rate_limit", "server"], ["timeout"]]
    assert set(kinds[2]) <= {"connection", "truncated"}
    assert len(kinds[2]) == 2
    assert kinds[3] == ["malformed", "malformed"]
    errors = [(call["error"] or "").partition(":")[0] for call in calls]
    assert errors == ["", "", "", "", "invalid", "invalid", "truncated", ""]
    fallbacks = [e.payload["fallback"] for e in events if e.kind == "decision"]
    assert fallbacks == [None, None, None, None, "wait", None]
    codes = [f["code"] for e in events if e.kind == "decision" for f in e.payload["failures"]]
    assert codes.count("unreadable_answer") >= 2
    assert all(call["usage"]["output_tokens"] > 0 for call in calls)
    end = events[-1].payload
    assert end["limit"] == "horizon"
    assert end["usage"]["calls"] == len(calls) == 8
    assert end["usage"]["output_tokens"] == sum(call["usage"]["output_tokens"] for call in calls)


def test_faults_on_the_way_leave_the_digest_as_it_is(faulty_server: FaultyServer, tmp_path: Path) -> None:
    faulty_server.answer = lambda body: WAIT
    events_of(faulty_server, tmp_path / "smooth", 2)
    faulty_server.script = [faulty.status(500), faulty.rate_limited("0")]
    events_of(faulty_server, tmp_path / "rough", 2)
    assert faults_of(tmp_path / "smooth") == [[], []]
    assert faults_of(tmp_path / "rough") == [["server", "rate_limit"], []]
    digests = []
    for run in ("smooth", "rough"):
        with LogReader.open(log_path(tmp_path / run)) as reader:
            digests.append(reader.digest(1))
    assert digests[0] == digests[1]


def test_a_server_that_never_recovers_ends_the_episode_after_bounded_requests(
    faulty_server: FaultyServer, tmp_path: Path
) -> None:
    faulty_server.script = [faulty.rate_limited("0")] * 1000
    events = events_of(faulty_server, tmp_path, 50, unavailable=1)
    assert events[-1].payload["limit"] == "model_failure"
    assert "agent_0" in events[-1].payload["message"]
    assert len(faulty_server.requests) == 5


def test_an_error_that_would_repeat_is_not_retried(faulty_server: FaultyServer, tmp_path: Path) -> None:
    faulty_server.script = [faulty.status(401, "bad key")] * 10
    events = events_of(faulty_server, tmp_path, 50)
    assert events[-1].payload["limit"] == "model_failure"
    assert len(faulty_server.requests) == 1


def test_latency_of_failed_calls_is_counted_in_simulated_time(faulty_server: FaultyServer, tmp_path: Path) -> None:
    faulty_server.answer = lambda body: WAIT
    faulty_server.script = [faulty.ok("no"), faulty.ok()]
    events = events_of(faulty_server, tmp_path, 2)
    first, second = (e.payload["latency_us"] for e in events if e.kind == "decision")
    assert first > second  # two calls against one
