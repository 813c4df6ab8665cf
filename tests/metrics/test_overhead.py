"""M1-M5 on a hand-written log, its stages drawn as a time line.

seconds   0    1    2    3    4    5    6    7    8
agent_0   R--- W--- I--- W-------- X--- W-------- .
agent_1   R-------------------- W  X--- R-------- .      (W from 4 to 5)

The joint step runs from 5 to 6; the log is cut at 8, in the middle of the second deliberation.
"""

from itertools import pairwise

import pytest
from fabricated import Script

from emcoop.metrics import Trace, compute

A, B = "agent_0", "agent_1"


def log() -> Script:
    script = Script()
    script.at(1).stage(A, "W").at(2).stage(A, "I").at(3).stage(A, "W").at(4).stage(B, "W")
    script.at(5).stage(A, "X").stage(B, "X").at(6).step().stage(B, "R").stage(A, "W")
    return script.at(8).add("tick")


def test_decision_overhead_counts_entries_into_r_i_and_w_per_step() -> None:
    # agent_0 enters R W I W W = 5, agent_1 enters R W R = 3; one step.
    values = compute(log().events)
    assert values["M1"] == 8.0
    assert values["decision_overhead_mean"] == 4.0
    assert values["decision_overhead_std"] == 1.0


def test_decisions_per_step_leaves_waiting_out() -> None:
    # agent_0: R I, agent_1: R R.
    assert compute(log().events)["decisions_per_step"] == 4.0


def test_decision_time_is_the_seconds_in_r_and_i() -> None:
    # agent_0: 0-1 and 2-3 = 2 s; agent_1: 0-4 and 6-8 = 6 s.
    values = compute(log().events)
    assert values["M2"] == 4.0
    assert values["M3"] == 2.0


def test_wait_time_counts_an_agent_held_up_in_the_middle_of_its_plan() -> None:
    # agent_0: 1-2, 3-5 and 6-8 = 5 s; agent_1: 4-5 = 1 s.
    values = compute(log().events)
    assert values["M4"] == 3.0
    assert values["M5"] == 2.0


def test_the_references_wait_count_leaves_out_the_wait_after_executing() -> None:
    # agent_0: 1-2 and 3-5 = 3 s (6-8 was entered from X); agent_1: 4-5 = 1 s.
    assert compute(log().events)["wait_time_mean_reference"] == 2.0


def test_per_step_measures_are_undefined_without_a_step() -> None:
    values = compute(Script().at(1).end("token_budget", 0.0).events)
    assert values["M1"] is None
    assert values["decisions_per_step"] is None
    assert values["M14"] is None
    assert values["M2"] == 1.0
    assert values["M4"] == 0.0


def test_one_agent_has_no_spread() -> None:
    script = Script(agents=1)
    values = compute(script.at(2).stage(A, "X").at(3).step().end().events)
    assert values["M1"] == 1.0
    assert values["M2"] == 2.0
    assert [values[name] for name in ("M3", "M5", "M7")] == [0.0, 0.0, 0.0]


def test_stages_tile_the_time_of_every_agent() -> None:
    trace = Trace.build(log().events)
    for agent in trace.team:
        intervals = trace.stages[agent]
        assert intervals[0].start == 0
        assert intervals[-1].end == trace.end == 8_000_000
        assert all(left.end == right.start for left, right in pairwise(intervals))


def test_a_per_step_rate_divides_by_all_steps() -> None:
    script = Script(agents=1).at(1).stage(A, "X")
    for second in range(2, 6):
        script.at(second).step()
    assert compute(script.events)["M1"] == pytest.approx(1 / 4)


def test_agents_that_decided_equally_long_differ_by_exactly_nothing() -> None:
    # The mean of three times 0.95 s is not 0.95 in binary.
    script = Script(agents=3).at(0.95)
    for agent in ("agent_0", "agent_1", "agent_2"):
        script.stage(agent, "X")
    values = compute(script.events)
    assert (values["M2"], values["M3"]) == (pytest.approx(0.95), 0.0)
