"""Why an episode failed, in hand-written logs whose answer is known, and a model of it in data whose law is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.metrics.fabricated import Script

from emcoop.analysis.attribution import attribute
from emcoop.analysis.prediction import FEATURES, Sample, predict, samples
from emcoop.core.errors import ConfigError
from emcoop.core.types import Constraint
from emcoop.metrics import Trace

A, B, C = (f"agent_{i}" for i in range(3))
BLOCK, OTHER = "block_1:left", "block_4:left"


def task(required: int, **kinds: list[str]) -> dict[str, Any]:
    every = {kind.value: kinds.get(kind.value, []) for kind in Constraint}
    return {"required": required, **every, "attempting": []}


def waiting_in_vain() -> Script:
    """A and B stand at a block of weight 3 for nine steps; C replans for another one at step 3."""
    script = Script(agents=3)
    for agent in (A, B, C):
        script.commit(agent, 1, task=BLOCK)
    named = {A: BLOCK, B: BLOCK, C: BLOCK}
    for t in range(12):
        if t == 3:
            script.commit(C, 2, task=OTHER, origin="replan").say(A, C)
            named = {**named, C: OTHER}
        there = [A, B] if t >= 3 else [A]
        everybody = [A, B, C]
        script.at(t + 1.0).step(named, tasks={BLOCK: task(3, spatial=there, dependency=everybody)})
    return script


def test_who_replanned_elsewhere_while_two_waited_is_named_with_step_and_shortfall() -> None:
    found = attribute(waiting_in_vain().end("horizon", 0.25).events)
    assert found is not None
    assert (found.step, found.limit, found.progress) == (12, "horizon", 0.25)
    assert (found.task, found.constraint, found.required, found.short) == (BLOCK, Constraint.SPATIAL, 3, 1)
    assert (found.since, found.steps) == (4, 9)
    assert (found.present, found.missing) == ((A, B), (C,))
    assert found.replans == {A: 0, B: 0, C: 1}
    assert found.messages == {A: 1, B: 0, C: 0}
    assert found.sentence == (
        "ended by horizon at step 12: agent 2 replanned block_4:left at step 3 while agents 0 and 1 stood at "
        "block_1:left: spatial short by 1 of 3 for 9 steps."
    )


def test_the_shortfall_is_that_of_the_steps_that_are_told() -> None:
    """A is there in steps 1-9, B in 5-11: alone for six steps, both for five; the wait begins when both are there."""
    script = Script(agents=3)
    for t in range(11):
        there = ([A] if t < 9 else []) + ([B] if t >= 4 else [])
        script.at(t + 1.0).step({A: BLOCK, B: BLOCK}, tasks={BLOCK: task(3, spatial=there, dependency=[A, B, C])})
    found = attribute(script.end("horizon", 0.0).events)
    assert found is not None
    assert (found.present, found.since, found.steps, found.short) == ((A, B), 5, 7, 1)
    assert "spatial short by 1 of 3 for 7 steps" in found.sentence


def test_a_won_a_cut_off_and_an_empty_episode_have_no_failure() -> None:
    assert attribute(waiting_in_vain().end("success").events) is None
    assert attribute(waiting_in_vain().events) is None
    assert attribute(Script().end("horizon", 0.0).events) is None


def test_who_stands_there_without_acting_is_named_for_the_temporal_constraint() -> None:
    script = Script(agents=2)
    for t in range(4):
        kinds = {"spatial": [A, B], "dependency": [A, B], "temporal": [A]}
        script.at(t + 1.0).step({A: BLOCK, B: BLOCK}, tasks={BLOCK: task(2, **kinds)})
    found = attribute(script.end("horizon", 0.0).events)
    assert found is not None
    assert (found.constraint, found.missing, found.short) == (Constraint.TEMPORAL, (B,), 1)
    assert "agent 1 did not act in time while agents 0 and 1 stood at block_1:left" in found.sentence


def test_a_blocked_way_accuses_nobody() -> None:
    script = Script(agents=2)
    for t in range(4):
        script.at(t + 1.0).step({A: BLOCK, B: BLOCK}, tasks={BLOCK: task(2, spatial=[A, B], temporal=[A, B])})
    found = attribute(script.end("horizon", 0.0).events)
    assert found is not None
    assert (found.constraint, found.missing) == (Constraint.DEPENDENCY, ())
    assert "nobody could do block_1:left yet while agents 0 and 1 stood at" in found.sentence


def test_who_lacks_the_tool_is_named_beside_those_who_have_it() -> None:
    script = Script(agents=2)
    for t in range(4):
        kinds = {"spatial": [A, B], "temporal": [A, B], "dependency": [A]}
        script.at(t + 1.0).step({A: BLOCK, B: BLOCK}, tasks={BLOCK: task(2, **kinds)})
    found = attribute(script.end("horizon", 0.0).events)
    assert found is not None
    assert (found.constraint, found.missing) == (Constraint.DEPENDENCY, (B,))
    assert "agent 1 could not do block_1:left yet while agents 0 and 1 stood at block_1:left" in found.sentence


def test_a_thing_that_nobody_meant_is_no_task_in_vain_and_the_dead_are_told() -> None:
    script = Script(agents=2)
    for t in range(4):
        died = ({"kind": "died", "agent": B},) if t == 3 else ()
        script.at(t + 1.0).step(
            {A: "none", B: OTHER}, tasks={BLOCK: task(1, spatial=[A], dependency=[A, B])}, events=died
        )
    found = attribute(script.end("failure", 0.0).events)
    assert found is not None
    assert (found.task, found.died) == (None, (B,))
    assert found.sentence == (
        "ended by failure at step 4, agent 1 died. Beside that, not shown to be its cause: nobody stood at any task of "
        "a plan in the last 4 steps; plans were about block_4:left."
    )


def test_what_fell_short_beside_a_death_is_not_told_as_its_cause() -> None:
    def told(*events: dict[str, str]) -> str:
        script = Script(agents=2)
        for t in range(4):
            there = {"spatial": [A], "temporal": [A], "dependency": [A, B]}
            facts = events if t == 3 else ()
            script.at(t + 1.0).step({A: BLOCK, B: OTHER}, tasks={BLOCK: task(2, **there)}, events=facts)
        found = attribute(script.end("failure", 0.0).events)
        assert found is not None
        return found.sentence

    alive, dead = told(), told({"kind": "died", "agent": B})
    short = "agent 0 stood at block_1:left: spatial short by 1 of 2 for 4 steps."
    assert alive.startswith("ended by failure at step 4: agent 1 ")
    assert dead.startswith("ended by failure at step 4, agent 1 died. Beside that, not shown to be its cause: agent 1 ")
    assert alive.endswith(short)
    assert dead.endswith(short)


def test_who_meant_to_come_is_missing_and_not_who_was_not_needed() -> None:
    def missing(required: int) -> tuple[str, ...]:
        script = Script(agents=3)
        for t in range(4):
            plans = {A: BLOCK, B: BLOCK, "agent_2": OTHER}
            script.at(t + 1.0).step(plans, tasks={BLOCK: task(required, spatial=[A], temporal=[A])})
        found = attribute(script.end("horizon", 0.0).events)
        assert found is not None
        return found.missing

    assert missing(2) == (B,)
    assert missing(3) == (B, "agent_2")


def test_a_team_that_went_nowhere_is_told_so() -> None:
    script = Script(agents=2)
    for t in range(3):
        script.at(t + 1.0).step({A: "none", B: BLOCK}, tasks={})
    found = attribute(script.end("horizon", 0.0).events)
    assert found is not None
    assert found.task is None
    assert found.sentence == (
        "ended by horizon at step 3: nobody stood at any task of a plan in the last 3 steps; plans were about "
        "block_1:left."
    )


def test_a_sample_holds_the_shares_of_stages_and_the_messages_of_its_window() -> None:
    script = Script(agents=2)  # both reason until 1 s
    script.at(1.0).step({}, tasks={})
    script.stage(A, "W").at(2.0).say(B, A).at(3.0).stage(A, "I")
    script.at(4.0).stage(A, "X").stage(B, "X").at(5.0).step({}, tasks={BLOCK: task(2, spatial=[A])})
    script.say(A, B).at(6.0).step({}, tasks={})  # sent after the step that it might have decided
    (found,) = samples(Trace.build(script.end("horizon").events), seed=7, window=1)
    # From 1 s to 5 s: A waits 2, is interrupted 1, executes 1; B reasons 3 and executes 1; one message, one interrupt.
    assert found == Sample(7, (3 / 8, 2 / 8, 1 / 8, 0.5, 0.5), True)


def test_a_window_of_several_steps_ends_with_the_step_and_begins_so_many_before() -> None:
    script = Script(agents=2)
    for t in range(6):
        script.at(t + 0.5).say(A, B)
        script.at(t + 1.0).step({}, tasks={BLOCK: task(2, spatial=[A])} if t == 4 else {})
    trace = Trace.build(script.end("horizon").events)
    messages = [samples(trace, seed=0, window=window)[0].features[4] for window in (1, 3, 5, 20)]
    assert messages == [1 / 2, 3 / 2, 5 / 2, 5 / 2]


def data(weight: float, seeds: int = 30, each: int = 30) -> list[Sample]:
    generator = np.random.default_rng(31)
    rows = []
    for seed in range(seeds):
        for features in generator.random((each, len(FEATURES))):
            p = 1 / (1 + np.exp(-weight * (features[1] - 0.5) / np.std([0, 1]) * 2))
            rows.append(Sample(seed, tuple(map(float, features)), bool(generator.random() < p)))
    return rows


def test_a_cause_in_the_window_is_found_and_the_other_features_are_not_accused() -> None:
    found = predict(data(weight=2.0))
    assert found.log_loss < found.base_loss
    assert (found.gain.low or 0.0) > 0
    intervals = {c.feature: (c.low, c.high) for c in found.coefficients}
    assert intervals["waiting"][0] > 0.5
    assert sum(low <= 0 <= high for name, (low, high) in intervals.items() if name != "waiting") >= 3


def test_a_window_without_information_gains_nothing_over_the_base_rate() -> None:
    found = predict(data(weight=0.0))
    assert found.log_loss >= found.base_loss - 0.002
    assert (found.gain.low or 0.0) <= 0.0


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 5 seeds; there are 2"):
        predict(data(1.0, seeds=2))
    with pytest.raises(ConfigError, match="always or never"):
        predict([Sample(seed, (0.0,) * 5, True) for seed in range(9)])
