"""Arms, the cooperation gap and influence, from fabricated records and hand-written logs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analysis.test_cells import record, setup
from tests.metrics.fabricated import Script

from emcoop.analysis.cells import EpisodeRecord, names_of, summarise
from emcoop.analysis.compare import arms, compare, pairwise
from emcoop.analysis.gap import gaps
from emcoop.analysis.influence import influence
from emcoop.core.errors import ConfigError

A, B = "agent_0", "agent_1"


def episodes(cell: str, values: list[float], agent: str = "scripted", **parts: Any) -> list[EpisodeRecord]:
    version = parts.pop("version", "emcoop 1, cube 1")
    made = setup(agent, **parts)
    return [
        record(cell, seed, setup=made, metrics={"success": float(v >= 1), "progress": v}, version=version)
        for seed, v in enumerate(values)
    ]


def study() -> list[EpisodeRecord]:
    """Two levels; debate is worse by 0.5 on hard, equal on easy."""
    return [
        *episodes("e1", [1.0, 1.0, 1.0, 1.0], topology="individual", level="easy"),
        *episodes("e2", [1.0, 1.0, 1.0, 1.0], topology="debate", level="easy"),
        *episodes("h1", [1.0, 1.0, 0.5, 1.0], topology="individual", level="hard"),
        *episodes("h2", [0.5, 0.5, 0.0, 0.5], topology="debate", level="hard"),
    ]


def test_arms_are_compared_under_each_matched_condition_with_holm_over_them() -> None:
    easy, hard = compare(study(), "individual", "debate", ["progress"])
    assert (easy.where["level"], hard.where["level"]) == ("easy", "hard")
    assert (easy.contrast.difference.mean, hard.contrast.difference.mean) == (0.0, 0.5)
    assert hard.contrast.p == 2 / 2**4
    assert hard.contrast.adjusted == 2 * 2 / 2**4
    assert (hard.a, hard.b) == ({"topology": "individual"}, {"topology": "debate"})
    assert hard.to_json()["arm_a"] == {"topology": "individual", "cell": "h1"}


def test_all_pairs_of_an_axis_are_those_that_differ_in_nothing_else() -> None:
    found = pairwise(study(), "topology", ["success"])
    assert [(c.a_cell, c.b_cell) for c in found] == [("e1", "e2"), ("h1", "h2")]
    with pytest.raises(ConfigError, match="no two cells of this run differ in model alone"):
        pairwise(study(), "model")


def test_settings_of_a_model_that_differ_are_a_part_of_its_name() -> None:
    def asked(cell: str, topology: str, value: float, **options: float) -> list[EpisodeRecord]:
        team = [{"agent": "llm", "model": "local:x", "options": {"max_tokens": 50, **options}}]
        return episodes(cell, [value] * 4, topology=topology, team=team)

    cold = [*asked("ic", "individual", 0.5, temperature=0.0), *asked("dc", "debate", 1.0, temperature=0.0)]
    warm = [*asked("iw", "individual", 0.25, temperature=0.7), *asked("dw", "debate", 0.5, temperature=0.7)]
    found = compare([*cold, *warm], "local:x temperature=0.7", "model=local:x temperature=0.0", ["progress"])
    assert [(c.a_cell, c.b_cell, c.contrast.difference.mean) for c in found] == [
        ("iw", "ic", -0.25),
        ("dw", "dc", -0.5),
    ]
    pairs = pairwise([*cold, *warm], "topology", ["progress"])
    assert [(c.a_cell, c.b_cell) for c in pairs] == [("ic", "dc"), ("iw", "dw")]  # never across settings
    assert {row.model for row in summarise([*cold, *warm])} == {"local:x temperature=0.0", "local:x temperature=0.7"}
    assert {row.model for row in summarise(cold)} == {"local:x"}


def test_prompt_variants_are_an_axis_for_comparisons_and_a_part_of_the_name_in_tables() -> None:
    def worded(cell: str, prompt: str) -> list[EpisodeRecord]:
        return episodes(cell, [0.5] * 3, team=[{"agent": "llm", "model": "local:x", "options": {"prompt": prompt}}])

    both = [*worded("f", "full"), *worded("s", "short")]
    assert {(arm.axes["model"], arm.axes["prompt"]) for arm in arms(both)} == {
        ("local:x", "full"),
        ("local:x", "short"),
    }
    assert set(names_of(summarise(both)).values()) == {
        "individual llm local:x prompt=full",
        "individual llm local:x prompt=short",
    }


def test_selectors_name_values_axes_and_cells() -> None:
    (found,) = compare(study(), "topology=individual,hard", "debate,hard", ["progress"])
    assert (found.a_cell, found.b_cell) == ("h1", "h2")
    for a, said in (
        ("debatte", "did you mean 'debate'"),
        ("topologie=debate", "did you mean 'topology'"),
        ("level=hardd", "did you mean 'hard'"),
        ("", "name an arm"),
    ):
        with pytest.raises(ConfigError, match=said):
            compare(study(), a, "debate")


def test_an_intervention_is_compared_with_the_cell_it_was_made_from() -> None:
    records = [
        *episodes("c1", [1.0, 1.0], topology="debate"),
        *episodes("c2", [0.5, 1.0], topology="centralized"),
        *episodes("s1", [0.0, 0.0], topology="debate", interventions=["silence"], control="c1"),
        *episodes("s2", [0.5, 0.0], topology="centralized", interventions=["silence"], control="c2"),
    ]
    found = compare(records, "silence", "none", ["progress"])
    assert [(c.a_cell, c.b_cell, c.contrast.difference.mean) for c in found] == [
        ("s1", "c1", -1.0),
        ("s2", "c2", -0.5),
    ]


def test_a_wrapped_seat_keeps_the_name_of_who_sat_there() -> None:
    records = episodes("x", [1.0])
    inner = {"agent": "composite", "options": {"base": {"agent": "greedy", "options": {}}, "plan": "oracle"}}
    made = {**setup(), "team": [inner], "interventions": ["faculty:plan=oracle"]}
    (arm,) = arms([EpisodeRecord(**{**vars(records[0]), "setup": made})])
    assert arm.axes["agent"] == "greedy"


def test_results_of_different_versions_are_refused_and_named() -> None:
    records = [
        *episodes("a", [1.0], topology="debate"),
        *episodes("b", [1.0], topology="individual", version="emcoop 2, cube 1"),
    ]
    with pytest.raises(ConfigError, match=r"emcoop 1, cube 1 \(cell a\); emcoop 2, cube 1 \(cell b\)"):
        compare(records, "debate", "individual")


def test_the_gap_lies_between_floor_and_oracle_with_the_solo_and_the_silent_arm() -> None:
    team = [0.6, 0.6]
    records = [
        *episodes("f", [0.2, 0.2], agent="random"),
        *episodes("o", [1.0, 1.0], agent="oracle"),
        *episodes("t", team, topology="debate"),
        *episodes("s", [0.4, 0.4], interventions=["solo"], control="t"),
        *episodes("q", [0.2, 0.6], topology="debate", interventions=["silence"], control="t"),
    ]
    (found,) = gaps(records)
    assert (found.floor, found.ceiling) == (0.2, 1.0)
    assert found.team.mean == pytest.approx(0.5)
    assert found.gap.mean == pytest.approx(0.5)
    assert found.solo is not None
    assert found.solo.mean == pytest.approx(0.25)
    assert found.matched is None
    assert found.informed is None
    assert found.retention == pytest.approx(2.0)
    assert found.talk is not None
    assert found.talk.mean == pytest.approx(0.25)
    with pytest.raises(ConfigError, match="no task of this run"):
        gaps(records[2:])


def test_the_gap_takes_floor_and_ceiling_from_the_teams_own_world() -> None:
    short, long = {"env_options": {"horizon": 10}}, {"env_options": {"horizon": 99}}
    records = [
        *episodes("f1", [0.0, 0.0], agent="random", **short),
        *episodes("o1", [0.5, 0.5], agent="oracle", **short),
        *episodes("f2", [0.2, 0.2], agent="random", **long),
        *episodes("o2", [1.0, 1.0], agent="oracle", **long),
        *episodes("t1", [0.5, 0.5], topology="debate", **short),
        *episodes("t2", [0.6, 0.6], topology="debate", **long),
        *episodes("t3", [0.6, 0.6], topology="debate", limits={"max_steps": 5}),  # nothing to put it between
    ]
    scales = {item.cell: (item.floor, item.ceiling, item.team.mean) for item in gaps(records)}
    assert scales == {"t1": (0.0, 0.5, 1.0), "t2": (0.2, 1.0, pytest.approx(0.5))}


def test_retention_is_of_the_seeds_that_team_and_solo_share() -> None:
    records = [
        *episodes("f", [0.0, 0.0, 0.0], agent="random"),
        *episodes("o", [1.0, 1.0, 1.0], agent="oracle"),
        *episodes("t", [0.2, 0.6, 1.0], topology="debate"),
        *episodes("s", [0.4, 0.8], interventions=["solo"], control="t"),
    ]
    (found,) = gaps(records)
    assert found.retention == pytest.approx(0.4 / 0.6)


def test_the_gap_takes_the_informed_agent_from_its_own_world_on_the_teams_scale() -> None:
    records = [
        *episodes("f", [0.2, 0.2], agent="random"),
        *episodes("o", [1.0, 1.0], agent="oracle"),
        *episodes("t", [0.6, 0.6], topology="debate"),
        *episodes("s", [0.4, 0.4], interventions=["solo"], control="t"),
        *episodes("i", [1.0, 0.8], agents=1, interventions=["alone:full"], control="t"),
        *episodes("j", [0.2, 0.2], agents=1, interventions=["alone:full"], control="another team"),
    ]
    (found,) = gaps(records)
    assert found.informed is not None
    assert found.informed.mean == pytest.approx(0.875)
    assert found.retention == pytest.approx(0.5 / 0.875)  # the best of the solos
    assert found.to_json()["informed"] == found.informed.to_json()


def test_influence_is_a_message_after_which_the_readers_plan_is_about_another_task() -> None:
    script = Script()
    script.commit(A, 1, task="x").commit(B, 2, task="x")
    script.add("message_sent", A, id=1, to=[B], content="go", price=0.0).add("message_read", B, ids=[1])
    script.commit(B, 3, task="y")
    script.add("message_sent", A, id=2, to=[B], content="stay", price=0.0).add("message_read", B, ids=[2])
    script.commit(B, 4, task="y").commit(A, 5, task="z")  # nobody had told A anything
    tasks = {"y": {"required": 1, "attempting": [B]}}
    script.step({A: "z", B: "y"}, tasks=tasks).step({A: "none", B: "y"}, tasks=tasks)
    found = influence([script.events])
    ((edge),) = found.edges
    assert (edge.sender, edge.reader, edge.read, edge.changed) == (A, B, 2, 1)
    assert found.centrality == {A: 1.0, B: 0.0}
    assert (found.claimed, found.actual) == ({A: 1, B: 2}, {A: 0, B: 2})
