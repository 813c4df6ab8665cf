"""Planted causes are found by decomposition, on seeds that nothing was tuned on; healthy teams are cleared."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interventions.played import events_of, played, team

from emcoop.analysis.decomposition import culprit, decompose, outcomes, single_effects
from emcoop.analysis.listening import KINDS, conduct, deaf_seats, listening
from emcoop.core.seeds import Stream
from emcoop.episode.setup import Setup
from emcoop.experiment.factorial import Design, by_faculty, by_listening, by_seat, screen

FRESH = range(9000, 9024)


def found(folder: Path, design: Design, seeds: range) -> str | None:
    """The factor that single swaps name, by progress."""
    records = played(folder, design.setups(), seeds)
    cells = {coalition: cell.cell for coalition, cell in design.cells.items()}
    effect = culprit(single_effects(outcomes(records, cells, "progress")))
    return effect.factors[0] if effect else None


def test_an_incompetent_seat_is_named(tmp_path: Path) -> None:
    assert found(tmp_path, by_seat(team("incompetent@2"), extent="single"), FRESH[:8]) == "agent_2"


def test_a_silent_leaders_voice_is_named(tmp_path: Path) -> None:
    assert found(tmp_path, by_faculty(team("mute@0"), seat=0, extent="single"), FRESH[:8]) == "speak"


@pytest.mark.parametrize(
    ("planted", "named"),
    [("deaf@1", ("agent_1",)), pytest.param("incompetent@2", (), marks=pytest.mark.slow)],
)
def test_a_deaf_seat_is_told_from_one_that_plans_badly(tmp_path: Path, planted: str, named: tuple[str, ...]) -> None:
    design = by_listening(team(planted))
    played(tmp_path, design.setups(), FRESH[:12])
    heard = {
        next(iter(coalition), ""): {s: conduct(events_of(tmp_path, cell, s, *KINDS)) for s in FRESH[:12]}
        for coalition, cell in design.cells.items()
    }
    assert deaf_seats(listening(heard.pop(""), heard)) == named


def test_a_healthy_team_is_accused_of_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, by_seat(team(), extent="single"), FRESH[:8]) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "named"),
    [
        (team("mute@0"), "agent_0.speak"),
        (team("deaf@1"), "agent_1.plan"),  # where what was heard would have been used
        (team("incompetent@2"), "agent_2.plan"),
        (team("adversary@1"), "agent_1.plan"),
        (team("adversary@0"), "agent_0"),  # speaks and acts against the team: only the whole seat mends it
        (team(), None),
        (team(topology="decentralized"), None),
    ],
    ids=lambda value: "+".join(value.interventions) or value.topology if isinstance(value, Setup) else str(value),
)
def test_seat_and_faculty_of_a_planted_cause_are_named(tmp_path: Path, planted: Setup, named: str | None) -> None:
    whole = named is not None and "." not in named
    assert found(tmp_path, by_seat(planted, extent="single") if whole else screen(planted), FRESH[:20]) == named


@pytest.mark.slow
def test_the_full_factorial_of_a_liar_who_obstructs_shows_that_both_must_be_mended(tmp_path: Path) -> None:
    design = by_faculty(team("adversary@0"), seat=0)
    records = played(tmp_path, design.setups(), FRESH[:10])
    cells = {coalition: cell.cell for coalition, cell in design.cells.items()}
    values = outcomes(records, cells, "progress")
    result = decompose(design.factors, values)
    shapley = {e.factors[0]: e for e in result.shapley}
    # Nothing but the block of weight 1 is ever delivered: a random walk in the adversary's body may push it alone.
    assert {round(value, 9) for value in values[frozenset()].values()} <= {0.0, round(1 / 6, 9)}
    assert result.base.low == 0.0
    assert result.top.mean == 1.0
    for factor in ("plan", "speak"):
        assert (shapley[factor].adjusted or 1.0) <= 0.05
    together = next(e for e in result.interactions if e.factors == ("plan", "speak"))
    assert (together.estimate.low or 0.0) > 0


@pytest.mark.slow
def test_a_healthy_team_against_draws_of_its_own_episodes_is_accused_no_more_often_than_alpha(tmp_path: Path) -> None:
    healthy = team(topology="decentralized")
    steps = [float(r.metrics["steps"] or 0) for r in played(tmp_path, [healthy], range(9000, 9040))]
    assert len(set(steps)) > 5
    factors = [frozenset[str](), *(frozenset({f"factor {i}"}) for i in range(12))]
    trials, accused = 120, 0
    for trial in range(trials):
        stream = Stream.named(trial, "false alarms")
        values = {c: {i: -steps[stream.below(len(steps))] for i in range(12)} for c in factors}
        accused += culprit(single_effects(values)) is not None
    assert accused / trials <= 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5
