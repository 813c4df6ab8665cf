"""M9-M13 and what became of plans, on hand-written logs."""

import dataclasses

import pytest
from fabricated import Script

from emcoop.metrics import compute
from emcoop.metrics.planning import coherence

A, B, C = "agent_0", "agent_1", "agent_2"
LEFT, RIGHT = "block_0:left", "block_1:right"


def log() -> Script:
    """Six plans; three interruptions, of which one resumes and one replaces (the last is cut by the end)."""
    script = Script().commit(A, 1).commit(B, 2)
    script.add("plan_interrupted", A, plan_id=1, messages=[1]).add("plan_resumed", A, plan_id=1)
    script.add("plan_interrupted", B, plan_id=2, messages=[2]).end_plan(B, 2, "replaced")
    script.add("plan_rejected", B, plan={}, failure={})
    script.commit(B, 3, origin="replan").end_plan(A, 1, "failed").commit(A, 4, origin="fallback")
    script.end_plan(A, 4, "done").commit(A, 5).end_plan(B, 3, "failed").commit(B, 6)
    script.add("plan_interrupted", A, plan_id=5, messages=[3])
    return script.end_plan(A, 5, "truncated").end_plan(B, 6, "truncated").end("horizon", 0.5)


def test_plans_are_those_committed_and_not_those_rejected() -> None:
    values = compute(log().events)
    assert values["M9"] == 6.0
    assert values["plans_rejected"] == 1.0


def test_interruptions_leave_failed_and_truncated_plans_out() -> None:
    values = compute(log().events)
    assert values["M10"] == 3.0
    assert values["plans_failed"] == 2.0
    assert values["plans_truncated"] == 2.0


def test_resumption_and_replanning_rates_add_up_to_one_when_plans_were_interrupted() -> None:
    values = compute(log().events)
    assert values["M11"] == pytest.approx(1 / 3)
    assert values["M12"] == pytest.approx(2 / 3)


def test_resumption_and_replanning_rates_are_zero_without_interruptions() -> None:
    values = compute(Script().commit(A, 1).events)
    assert (values["M10"], values["M11"], values["M12"]) == (0.0, 0.0, 0.0)


def test_no_plans_give_zero_counts_and_no_coherence() -> None:
    values = compute(Script().events)
    assert (values["M9"], values["plans_failed"], values["plans_truncated"], values["M13"]) == (0.0, 0.0, 0.0, None)


def test_two_agents_may_number_their_plans_alike() -> None:
    values = compute(Script().commit(A, 1).commit(B, 1).end_plan(B, 1, "failed").events)
    assert (values["M9"], values["plans_failed"]) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("named", "share"),
    [
        ({}, None),
        ({A: LEFT}, 1.0),
        ({A: LEFT, B: RIGHT}, 0.0),
        ({A: LEFT, B: LEFT}, 1.0),
        ({A: LEFT, B: LEFT, C: RIGHT}, 2 / 3),
        ({A: LEFT, B: LEFT, C: "none"}, 2 / 3),
        ({A: "none", B: "none", C: LEFT}, 0.0),
        ({A: "none", B: "none"}, 0.0),
    ],
)
def test_coherence_of_a_step_is_the_share_on_the_modal_task(named: dict[str, str], share: float | None) -> None:
    assert coherence(named) == share


def test_coherence_is_the_mean_over_steps_that_had_a_plan() -> None:
    # 1, 2/3, 0, and a step without any plan: (1 + 2/3 + 0) / 3.
    script = Script(agents=3).step({A: LEFT, B: LEFT, C: LEFT}).step({A: LEFT, B: LEFT, C: RIGHT})
    script.step({A: LEFT, B: RIGHT, C: "none"}).step({})
    assert compute(script.events)["M13"] == pytest.approx(5 / 9)


def test_coherence_does_not_apply_where_a_step_is_a_turn() -> None:
    script = Script().step({A: LEFT, B: "none"}).step({A: "none", B: LEFT})
    assert compute(script.events)["M13"] == 0.0
    opening = dataclasses.replace(script.events[0], payload={**script.events[0].payload, "env": {"by_turns": True}})
    assert compute([opening, *script.events[1:]])["M13"] is None
