"""Planted faults and the factorial of assists: what is wrong with a team shows in which assist helps it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from exchange_kit import played, setup

from emcoop.analysis.decomposition import Decomposition, culprit, decompose
from emcoop.core.errors import ConfigError
from emcoop.envs.exchange.env import Exchange
from emcoop.envs.exchange.simulate import simulate
from emcoop.episode.setup import Setup
from emcoop.experiment.factorial import by_intervention
from emcoop.interventions import apply

ASSISTS = ("assist:request", "assist:fulfil", "assist:submit")
ASK, FULFIL, SUBMIT = ASSISTS
SEEDS = range(7)


def decomposed(cell: Setup, tasks: Callable[[Setup, int], float], factors: tuple[str, ...] = ASSISTS) -> Decomposition:
    """The full factorial of these assists over this team: tasks done."""
    design = by_intervention(cell, factors)
    values = {coalition: {seed: tasks(made, seed) for seed in SEEDS} for coalition, made in design.cells.items()}
    return decompose(design.factors, values)


def simulated(cell: Setup, seed: int) -> float:
    """The same episode without the loop around it."""
    env = cell.make_env()
    assert isinstance(env, Exchange)
    return float(simulate(env.spec, seed, [str(seat.options["kind"]) for seat in cell.team]).tasks)


def team(kind: str) -> Setup:
    return setup([kind], agents=3, env_options={"rounds": 8})


def gain(found: Decomposition, factor: str) -> float:
    effect = next(e for e in found.main if e.factors == (factor,))
    assert effect.estimate.mean is not None
    return effect.estimate.mean


def test_a_design_of_interventions_has_every_coalition_and_keeps_the_untouched_cell() -> None:
    cell = team("scripted")
    design = by_intervention(cell, ASSISTS)
    assert len(design.cells) == 8
    assert design.cells[frozenset()] == cell
    both = design.cells[frozenset({ASK, FULFIL})]
    assert both.interventions == (ASK, FULFIL)
    assert both.env_options == {"rounds": 8, "auto_request": True, "auto_fulfil": True}
    with pytest.raises(ConfigError, match="twice"):
        by_intervention(cell, (ASK, ASK))


@pytest.mark.parametrize(
    ("kind", "fault"),
    [("selfish", FULFIL), ("replier", ASK), ("muddled", ASK), ("forgetful", SUBMIT)],
    ids=["never-answers", "never-asks", "asks-the-wrong-ones", "never-submits"],
)
def test_the_factorial_names_what_a_planted_team_cannot_or_will_not_do(kind: str, fault: str) -> None:
    found = decomposed(team(kind), simulated)
    named = culprit(found.shapley)
    assert named is not None
    assert named.factors == (fault,)
    assert gain(found, fault) > 2 * max(gain(found, other) for other in ASSISTS if other != fault)


@pytest.mark.parametrize(
    ("kind", "fault"), [("selfish", FULFIL), ("replier", ASK), ("muddled", ASK), ("forgetful", SUBMIT)]
)
def test_against_a_healthy_team_only_the_planted_fault_stands_out(kind: str, fault: str) -> None:
    """The assists are faster than sharing by hand, and help the healthy, too; more than that is the fault."""

    def shapley(found: Decomposition) -> dict[str, float]:
        return {effect.factors[0]: effect.estimate.mean or 0.0 for effect in found.shapley}

    healthy, planted = (shapley(decomposed(team(name), simulated)) for name in ("scripted", kind))
    assert [factor for factor in ASSISTS if planted[factor] > healthy[factor]] == [fault]


def test_the_factorial_finds_the_same_in_the_loop(tmp_path: Path) -> None:
    cell = setup(["selfish"], agents=2, env_options={"rounds": 3})
    two = (ASK, FULFIL)
    found = decomposed(cell, lambda made, seed: float(played(tmp_path, made, seed)[0].score.detail["tasks"]), two)
    assert found == decomposed(cell, simulated, two)
    named = culprit(found.shapley)
    assert named is not None
    assert named.factors == (FULFIL,)


def test_a_falsifier_shows_in_the_pay_and_only_filling_requests_mends_it(tmp_path: Path) -> None:
    """It does its tasks; what they pay is short, and neither asking nor submitting for it brings that back."""

    def pay(*assists: str) -> float:
        cell = apply(team("falsifier"), assists)
        outcomes = [played(tmp_path, cell, seed)[0].score.detail for seed in range(2)]
        return sum(o["revenue"] for o in outcomes) / sum(o["tasks"] for o in outcomes)

    assert pay() < 5_000
    assert pay(ASK) < 5_000
    assert pay(SUBMIT) < 5_000
    assert pay(FULFIL) == 10_000


def test_one_unwilling_player_shows_in_its_own_cell_and_not_in_the_others(tmp_path: Path) -> None:
    """A defector among scripted peers: their requests to it are ignored, and filling requests makes up for it."""
    healthy = setup(["scripted"], agents=4, env_options={"rounds": 8})
    mixed = apply(healthy, ["habit:selfish@1"])
    cells = (healthy, mixed, *(apply(cell, [FULFIL]) for cell in (healthy, mixed)))
    plain, defected, filled, mended = (
        [played(tmp_path, cell, seed)[0].score.detail for seed in (0, 1)] for cell in cells
    )
    for seed in (0, 1):
        assert plain[seed]["ignored"] == 0 < defected[seed]["ignored"]
        assert defected[seed]["tasks"] < plain[seed]["tasks"]
        assert mended[seed]["tasks"] == filled[seed]["tasks"]


def test_interventions_say_what_is_wrong_with_them() -> None:
    cell = team("scripted")
    for text, named in (
        ("assist:everything", "request"),
        ("incentive:-5", "below zero"),
        ("hide:walls", "revenue_board"),
        ("habit:selfis@0", "selfish"),
        ("bandwidth", "messages=3"),
    ):
        with pytest.raises(ConfigError, match=named):
            apply(cell, [text])
    with pytest.raises(ConfigError, match="only the environment 'exchange'"):
        apply(Setup(), ["assist:request"])


def test_interventions_change_what_they_name() -> None:
    cell = team("scripted")
    assert apply(cell, ["policy"]).env_options["protocol"] is True
    assert apply(cell, ["hide:revenue_board"]).env_options["revenue_board"] is False
    assert apply(cell, ["incentive:amount=500;arm=if_used"]).env_options["incentive_arm"] == "if_used"
    limited = apply(cell, ["bandwidth:messages=2;sends=1"])
    assert limited.topology_options["sends"] == 2
    assert limited.env_options["most_sends"] == 1
    assert [s.options.get("kind") for s in apply(cell, ["habit:flood@2"]).seats()] == ["scripted", "scripted", "flood"]


def test_fewer_messages_make_fewer_requests(tmp_path: Path) -> None:
    cell = setup(["scripted"], agents=4, env_options={"rounds": 6})
    free, limited = (played(tmp_path, apply(cell, names))[0].score.detail for names in ([], ["bandwidth:messages=1"]))
    assert limited["requests"] <= 24 < free["requests"]
    assert limited["tasks"] < free["tasks"]
