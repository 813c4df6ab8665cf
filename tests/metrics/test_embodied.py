"""M14-M18 and the deficits, on hand-written logs."""

import pytest
from fabricated import Script, task

from emcoop.core.types import Constraint
from emcoop.metrics import Trace, compute
from emcoop.metrics.embodied import improvement

A, B = "agent_0", "agent_1"


def steps(*tasks: dict[str, object]) -> Script:
    script = Script()
    for entry in tasks:
        script.step(tasks=entry)
    return script


def test_capability_gains_of_all_agents_are_counted_per_step() -> None:
    # Three gains (two of agent_0 in one step) in four steps.
    script = Script().step(gains={A: ["axe", "wood"]}).step().step(gains={B: ["wood"]}).step()
    assert compute(script.events)["M14"] == 0.75


def test_each_kind_of_constraint_has_its_own_improvement() -> None:
    # Between the two steps the one task's counts go: spatial 0 -> 1, temporal 1 -> 0, dependency 1 -> 1,
    # participation 0 -> 2.
    script = steps({"g": task(2, temporal=1, dependency=1)}, {"g": task(2, spatial=1, dependency=1, participation=2)})
    values = compute(script.events)
    assert (values["M15"], values["M16"], values["M17"], values["M18"]) == (1.0, 0.0, 0.5, 1.0)


def test_a_task_counts_once_however_often_it_rose_and_may_be_in_both_sets() -> None:
    # g: 0 1 2 1 rose twice and fell; h: 0 0 1 1 rose. I = {g, h}, W = {g}: 2/3.
    script = steps(
        {"g": task(2), "h": task(1)},
        {"g": task(2, spatial=1), "h": task(1)},
        {"g": task(2, spatial=2), "h": task(1, spatial=1)},
        {"g": task(2, spatial=1), "h": task(1, spatial=1)},
    )
    assert compute(script.events)["M15"] == pytest.approx(2 / 3)


def test_a_task_that_a_step_does_not_list_has_no_satisfying_agent() -> None:
    # Listed with one agent, then not listed (a fall), then listed again (a rise).
    there, gone = {"g": task(1, spatial=1)}, dict[str, object]()
    assert improvement(Trace.build(steps(there, gone).events), Constraint.SPATIAL) == 0.0
    assert improvement(Trace.build(steps(there, gone, there).events), Constraint.SPATIAL) == 0.5


@pytest.mark.parametrize("count", [0, 1, 3])
def test_improvement_is_one_half_when_nothing_moved(count: int) -> None:
    values = compute(steps(*[{"g": task(2, spatial=1)}] * count).events)
    assert [values[name] for name in ("M15", "M16", "M17", "M18")] == [0.5] * 4


def test_deficit_is_the_mean_shortfall_over_attempts() -> None:
    # Attempts: g with 1 of 2 (0.5), h with 0 of 4 (1.0), g with 3 of 2 (no shortfall: 0). The rest is not attempted.
    script = steps(
        {"g": task(2, spatial=1, attempting=1), "h": task(4, attempting=2)},
        {"g": task(2, spatial=3, attempting=1), "h": task(4)},
    )
    values = compute(script.events)
    assert values["deficit_spatial"] == 0.5
    # Nobody satisfies the other kinds in any of the three attempts.
    for kind in ("temporal", "dependency", "participation"):
        assert values[f"deficit_{kind}"] == 1.0


def test_each_kind_has_its_own_deficit() -> None:
    entry = task(4, spatial=4, temporal=3, dependency=2, participation=1, attempting=1)
    values = compute(steps({"g": entry}).events)
    kinds = ("spatial", "temporal", "dependency", "participation")
    assert [values[f"deficit_{kind}"] for kind in kinds] == [0.0, 0.25, 0.5, 0.75]


def test_a_task_that_needs_nobody_has_no_deficit() -> None:
    assert compute(steps({"g": task(0, attempting=1)}).events)["deficit_spatial"] == 0.0


def test_deficits_are_undefined_without_attempts() -> None:
    values = compute(steps({"g": task(2, spatial=1)}).events)
    assert [values[f"deficit_{kind.value}"] for kind in Constraint] == [None] * 4
