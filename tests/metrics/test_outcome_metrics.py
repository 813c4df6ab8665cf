"""Outcome measures, and logs that are cut off or damaged."""

import pytest
from fabricated import Event, Script

from emcoop.core.errors import ConfigError, CorruptLog
from emcoop.log.events import CATALOGUE
from emcoop.metrics import METRICS, PAPER, Direction, Metric, Trace, compute, load_metric, measure, metric, metric_order
from emcoop.metrics.trace import KINDS

A, B = "agent_0", "agent_1"


def usage(tokens: int, cost: float | None) -> dict[str, object]:
    return {"input_tokens": tokens, "output_tokens": 2, "cached_tokens": 1, "calls": 1, "cost_usd": cost}


def decide(script: Script, agent: str, cost: float | None = 0.5, fallback: str | None = None) -> Script:
    return script.add("decision", agent, faculty="plan", usage=usage(10, cost), fallback=fallback, failures=[])


def test_the_outcome_is_the_one_the_end_states() -> None:
    total = {"input_tokens": 100, "output_tokens": 20, "cached_tokens": 0, "calls": 7, "cost_usd": 0.25}
    values = compute(Script().at(1).step().at(2.5).step().end("horizon", 0.4, usage=total).events)
    expected = {
        "success": 0.0,
        "progress": 0.4,
        "steps": 2.0,
        "duration": 2.5,
        "input_tokens": 100.0,
        "output_tokens": 20.0,
        "model_calls": 7.0,
        "cost_usd": 0.25,
    }
    assert {name: values[name] for name in expected} == expected


def test_success_is_one() -> None:
    assert compute(Script().end().events)["success"] == 1.0


def test_the_limit_that_fired_is_in_the_trace() -> None:
    assert Trace.build(Script().end("money_budget", 0.0).events).limit == "money_budget"


def test_a_log_without_an_end_has_no_outcome_but_keeps_what_was_used() -> None:
    script = decide(decide(Script(), A), B).at(1).step()
    script.add("message_sent", A, id=1, to=[B], content="hello", price=0.25)
    trace, values = Trace.build(script.events), compute(script.events)
    assert not trace.finished
    assert (values["success"], values["progress"], values["steps"]) == (None, None, 1.0)
    assert (values["input_tokens"], values["output_tokens"], values["model_calls"]) == (20.0, 4.0, 2.0)
    assert values["cost_usd"] == 1.25


def test_a_cost_with_an_unknown_part_is_unknown() -> None:
    assert compute(decide(decide(Script(), A), B, cost=None).events)["cost_usd"] is None


def test_invalid_actions_are_a_share_of_all_primitives() -> None:
    # Three of the six primitives of three steps with two agents had no effect.
    script = Script().step(invalid=[A]).step(invalid=[A, B]).step(invalid=[])
    assert compute(script.events)["invalid_action_rate"] == 0.5


def test_fallbacks_are_a_share_of_all_decisions() -> None:
    # Four decisions. One fell back by itself; after another the loop stood in because no plan had passed.
    script = decide(decide(Script(), A, fallback="wait"), B)
    script.add("fallback", B, faculty="plan", to="wait", why="no plan passed")
    assert compute(decide(decide(script, A), B).events)["fallback_rate"] == 0.5


def test_a_decision_never_falls_back_twice() -> None:
    script = decide(Script(), A, fallback="wait").add("fallback", A, faculty="plan", to="wait", why="no plan passed")
    assert compute(script.events)["fallback_rate"] == 1.0


def test_rates_are_undefined_where_nothing_was_done() -> None:
    values = compute(Script().events)
    assert (values["invalid_action_rate"], values["fallback_rate"]) == (None, None)


def test_the_paper_has_eighteen_metrics_and_every_metric_its_own_name_and_definition() -> None:
    assert metric_order()[:18] == list(PAPER) == [f"M{i}" for i in range(1, 19)]
    for name in METRICS.builtin:
        found = load_metric(name)
        assert isinstance(found, Metric)
        assert found.name == name
        assert found.definition
    titles = [load_metric(name).title for name in METRICS.builtin]
    assert len(set(titles)) == len(titles)


def test_events_of_unknown_kinds_are_passed_over() -> None:
    assert compute(Script().add("invented", A, anything=1).events) == compute(Script().events)


def test_a_trace_is_made_of_kinds_that_the_log_knows() -> None:
    assert set(KINDS) <= set(CATALOGUE)
    assert len(set(KINDS)) == len(KINDS)


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], "no events"),
        ([Event(0, None, "step", {})], "begins with a step"),
        (Script().add("episode_start", team=[]).events, "second episode_start"),
        (Script().add("stage", "agent_9", **{"from": None, "to": "R"}).events, "agent_9"),
        (Script().add("message_sent", None, to=[]).events, "not a team member"),
        (Script().add("stage", A, **{"from": "R", "to": "Q"}).events, "broken payload"),
        (Script().add("step", None, tasks={"g": {}}).events, "broken payload.*required"),
        (Script().add("episode_end", None, limit="success", score=7).events, "episode_end.*broken payload"),
    ],
)
def test_what_is_not_an_episode_is_a_corrupt_log(events: list[Event], says: str) -> None:
    with pytest.raises(CorruptLog, match=says):
        compute(events)


def test_something_else_under_a_metrics_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS.builtin, "odd", "emcoop.metrics.trace:KINDS")
    with pytest.raises(ConfigError, match="'odd' is a tuple"):
        load_metric("odd")


def test_an_error_inside_a_metric_names_it() -> None:
    @metric("broken", "broken", "share", Direction.NONE)
    def broken(trace: Trace) -> float:
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        measure(Trace.build(Script().events), {"broken": broken})
    assert caught.value.__notes__ == ["while computing the metric 'broken'"]
