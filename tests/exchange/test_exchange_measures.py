"""The measures from a log: by hand where every number can be counted, and against the world's own counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from exchange_kit import played, setup

from emcoop.analysis.exchange import COLUMNS, inequality, measure, published
from emcoop.core.errors import CorruptLog
from emcoop.envs.exchange.results import gini


@dataclass(frozen=True)
class Line:
    """An event as a log gives it."""

    kind: str
    payload: dict[str, Any]
    agent: str | None = None
    cog_time: int = 0
    env_step: int = field(default=0)


PARAMETERS = {"agents": 2, "pieces": 4, "overwrite": False, "incentive_arm": "received"}
START = Line("episode_start", {"env": {"name": "exchange", "parameters": PARAMETERS}})
"""agent_0 holds the pieces 0 and 1, agent_1 holds 2 and 3."""


def step(agent: int, *facts: dict[str, Any]) -> Line:
    turn = {"kind": "turn", "agent": f"agent_{agent}", "round": 0}
    return Line("step", {"events": [turn, *({"agent": f"agent_{agent}", **fact} for fact in facts)]})


def requested(to: int, piece: int) -> dict[str, Any]:
    return {"kind": "requested", "to": f"agent_{to}", "piece": piece, "how": "typed", "held": True}


def sent(to: int, piece: int, *, honest: bool = True, answer: str = "?") -> dict[str, Any]:
    facts = {"value": 5, "new": True, "honest": honest, "true": honest, "answer": answer}
    return {"kind": "sent", "to": f"agent_{to}", "piece": piece, **facts}


def submitted(agent: int, number: int, pay: float) -> dict[str, Any]:
    task = f"agent_{agent}:task_{number}"
    return {"kind": "submitted", "task": task, "pay": pay, "wrong": int(pay < 10_000), "by_engine": False}


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([step(0, requested(1, 2)), step(1, sent(0, 2))], {"answered": 1, "response_rate": 1.0}),
        ([step(0, requested(1, 2)), step(1), step(1, sent(0, 2))], {"late": 1, "response_rate": 1.0}),
        ([step(0, requested(1, 2)), step(1)], {"ignored": 1, "response_rate": 0.0}),
        ([step(0, requested(1, 2)), step(1, sent(0, 2, honest=False))], {"falsified": 1, "response_rate": 0.0}),
        ([step(1, sent(0, 2)), step(1, sent(0, 3))], {"unsolicited": 2, "requests": 0, "response_rate": None}),
        ([step(1), step(0, requested(1, 2))], {"could_not_comply": 1, "ignored": 0, "response_rate": None}),
        (
            [step(0, requested(1, 2), requested(1, 3)), step(1, sent(0, 2)), step(1)],
            {"answered": 1, "ignored": 1, "response_rate": 0.5},
        ),
        (
            [step(0, requested(1, 2)), step(1, sent(0, 2), sent(0, 3))],
            {"answered": 1, "unsolicited": 1, "response_rate": 1.0, "truthful_sends_per_request": 2.0},
        ),
    ],
    ids=["answered", "late", "ignored", "falsified", "unsolicited", "no-turn-left", "half", "not-inflated"],
)
def test_a_request_is_what_became_of_it(turns: list[Line], expected: dict[str, Any]) -> None:
    found = measure([START, *turns])
    assert {name: found[name] for name in expected} == expected


def test_who_lacks_the_piece_could_not_comply() -> None:
    three = {"agents": 3, "pieces": 3, "overwrite": False, "incentive_arm": "received"}
    start = Line("episode_start", {"env": {"name": "exchange", "parameters": three}})
    found = measure([start, step(0, requested(1, 2)), step(1), step(1)])
    assert (found["could_not_comply"], found["ignored"], found["response_rate"]) == (1, 0, None)


def test_a_request_that_another_met_first_is_moot_and_one_left_lying_before_is_ignored() -> None:
    three = {"agents": 3, "pieces": 3, "overwrite": False, "incentive_arm": "received"}
    start = Line("episode_start", {"env": {"name": "exchange", "parameters": three}})
    copy = step(1, sent(2, 1))
    asks = step(0, requested(1, 1), requested(2, 1))
    assert measure([start, copy, asks, step(1, sent(0, 1)), step(2)])["moot"] == 1
    found = measure([start, copy, asks, step(2), step(1, sent(0, 1)), step(2)])
    assert (found["moot"], found["ignored"], found["answered"]) == (0, 1, 1)


def test_tasks_money_and_the_pipeline_are_counted() -> None:
    ready = {"kind": "ready", "task": "agent_0:task_0"}
    second = {"kind": "ready", "task": "agent_0:task_1"}
    said = Line("message_sent", {"id": 1}, "agent_0")
    found = measure(
        [
            START,
            step(0, ready, second, submitted(0, 0, 10_000.0)),
            said,
            said,
            said,
            step(1, submitted(1, 0, 5_000.0), {"kind": "bonus", "amount": 1000.0, "piece": 2}),
        ]
    )
    assert (found["tasks"], found["revenue"], found["submitted_wrong"]) == (2, 16_000.0, 1)
    assert (found["messages"], found["messages_per_task"]) == (3, 1.5)
    assert found["feasible"] == 3
    assert found["pipeline_efficiency"] == pytest.approx(2 / 3)
    assert found["gini"] == pytest.approx(1 / 6)


def test_points_are_no_money() -> None:
    symbolic = {**PARAMETERS, "incentive_arm": "symbolic"}
    start = Line("episode_start", {"env": {"name": "exchange", "parameters": symbolic}})
    assert measure([start, step(1, {"kind": "bonus", "amount": 1000.0, "piece": 2})])["revenue"] == 0


def test_a_false_copy_passed_on_in_good_faith_is_no_falsification() -> None:
    honest_but_wrong = {**sent(0, 2), "true": False}
    found = measure([START, step(0, requested(1, 2)), step(1, honest_but_wrong)])
    assert (found["falsification_rate"], found["answered"]) == (0.0, 1)


@pytest.mark.parametrize("values", [[], [0, 0], [3, 3, 3], [0, 0, 9], [1, 2, 3, 4]])
def test_two_writings_of_gini_agree(values: list[float]) -> None:
    assert inequality(values) == pytest.approx(gini(values))
    if values == [0, 0, 9]:
        assert gini(values) == pytest.approx(2 / 3)


TEAMS = [
    (["scripted"], {}),
    (["selfish", "scripted", "falsifier", "scripted", "muddled"], {}),
    (["scripted", "forgetful", "scripted", "replier", "flood"], {"incentive": 1000.0, "incentive_arm": "by_recipient"}),
    (["replier", "selfish", "scripted", "falsifier", "scripted"], {"auto_request": True}),
    (["selfish", "scripted", "scripted", "noop", "scripted"], {"auto_fulfil": True, "auto_submit": True}),
    (["noop"], {"auto_request": True, "auto_fulfil": True, "auto_submit": True}),
]


@pytest.mark.parametrize(("team", "options"), TEAMS)
def test_the_log_and_the_world_count_the_same(tmp_path: Path, team: list[str], options: dict[str, Any]) -> None:
    outcome, events = played(tmp_path, setup(team, agents=5, env_options={"rounds": 8, **options}), seed=3)
    told, counted = outcome.score.detail, measure(events)
    both = {name: value for name, value in counted.items() if name in told}
    assert len(both) >= 20
    assert {name: told[name] for name in both} == pytest.approx(both)


def test_tasks_are_told_as_shares_of_the_references_of_the_same_seed(tmp_path: Path) -> None:
    cell = setup(["scripted"], agents=4, env_options={"rounds": 6})
    found = measure(played(tmp_path, cell, seed=5)[1])
    assert found["of_request_and_answer"] == 1.0
    assert found["of_flood"] is not None
    assert found["of_instant_fill"] is not None
    assert found["of_flood"] < found["of_instant_fill"] < 1.0
    assert found["percent_of_204"] is None, "only the published world has this share"
    assert measure([START])["of_flood"] is None


def test_the_log_of_another_world_is_refused() -> None:
    with pytest.raises(CorruptLog, match="cube"):
        measure([Line("episode_start", {"env": {"name": "cube", "parameters": {}}})])
    with pytest.raises(CorruptLog, match="episode_start"):
        measure([])
    with pytest.raises(CorruptLog, match="step"):
        measure([START, Line("step", {"events": [{"kind": "sent", "agent": "agent_0"}]})])


def test_published_rows_say_that_they_are_published() -> None:
    rows = published()
    assert len(rows) == 8
    assert all(row["origin"] == "published" and row["source"] for row in rows)
    assert all(isinstance(row[column], float) for row in rows for column in COLUMNS)
    o3 = next(row for row in rows if row["model"] == "o3")
    assert (o3["base"], o3["incentive"]) == (16.9, 190.7)
