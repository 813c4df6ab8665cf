"""The reference policies of the maze: floors below, the scripted partner at the top, relay and its controls between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.maze.maze_kit import ROWS, at_start, maze_of, setup, study

from emcoop.agents.opening import CANNED, canned
from emcoop.analysis.cells import read_records
from emcoop.analysis.decomposition import culprit, outcomes, single_effects
from emcoop.analysis.dialogue import Told, relay, tell
from emcoop.analysis.maze_floors import TEAMS, row, table
from emcoop.core.errors import ConfigError
from emcoop.core.types import Score
from emcoop.envs.maze import talk
from emcoop.envs.maze.env import make
from emcoop.envs.maze.trial import measure, play
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.factorial import by_faculty
from emcoop.experiment.study import log_path
from emcoop.interventions import apply
from emcoop.log.reader import LogReader


def rate(scores: list[Score]) -> float:
    return sum(score.success for score in scores) / len(scores)


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_perfect_partners_always_reach_the_goal_by_a_shortest_way(agents: int) -> None:
    for score in measure(("scripted",) * agents, range(25), "medium"):
        assert score.success
        assert score.detail["moves"] == score.detail["shortest"]


def test_perfect_partners_reach_it_in_free_words_too() -> None:
    scores = measure(("scripted",) * 2, range(25), "medium", mode="free")
    assert rate(scores) == 1
    assert {score.detail["unresolved"] for score in scores} == {None}


def test_perfect_partners_answer_the_exit_questions_rightly() -> None:
    for score in measure(("scripted",) * 2, range(10), "medium", exit_questions=True):
        answers = score.detail["answers"]
        assert (answers["path_agreement"], answers["path_correct"], answers["position_error"]) == (1, 1, 0)
        assert all(told == {"own": 1, "others": 1, "invented": 0} for told in answers["maps"])


def test_one_agent_with_both_halves_needs_no_partner() -> None:
    assert rate(measure(("scripted",), range(25), "medium", view="both")) == 1
    assert rate(measure(("scripted",), range(25), "medium", view="full", review=True)) == 1


def test_random_teams_end_at_other_turns_for_every_seed() -> None:
    env = make(2, "medium")
    assert len({play(env, ("random",) * 2, seed).closed for seed in range(20)}) > 5


def test_the_floors_lie_in_their_order() -> None:
    walk, greedy, half, perfect = (
        rate(measure((name,) * 2, range(100), "medium")) for name in ("random-walk", "greedy", "half-map", "scripted")
    )
    assert walk < greedy < perfect
    assert walk < half < perfect


def test_a_pair_that_goes_by_one_half_map_does_what_one_agent_with_that_half_does() -> None:
    pair = measure(("half-map",) * 2, range(40), "medium")
    alone = measure(("half-map",), range(40), "medium", view="half")
    assert [s.detail["weighted"] for s in pair] == [s.detail["weighted"] for s in alone]


def test_two_mazes_with_the_same_copy_look_the_same_to_its_agent() -> None:
    env = make(2, "easy")
    first = at_start(env)
    maze = first.maze
    hidden = next((r, c) for r in range(5) for c in range(5) if not maze.sees(0, (r, c)))
    rows = [list(line) for line in ROWS]
    rows[hidden[0]][hidden[1]] = "#" if rows[hidden[0]][hidden[1]] == "." else "."
    second = at_start(env, ["".join(line) for line in rows])
    assert env.observe(first, "agent_0") == env.observe(second, "agent_0")


def test_maps_are_understood_in_whatever_words_stand_around_them() -> None:
    rows = maze_of(ROWS).view(0)
    said = [
        talk.say_map(rows),
        "Here is mine:\n" + "\n".join(" ".join(line) for line in rows) + "\nWhat about you?",
        "mine is " + " / ".join(rows) + " ok?",
        "```\n" + "\n".join(rows) + "\n```",
    ]
    for text in said[:2] + said[3:]:
        assert list(talk.read_maps(text, 5)) == [rows], text
    assert list(talk.read_maps("@....\n.....", 5)) == []
    assert list(talk.read_maps("\n".join(["....."] * 5), 5)) == []


def test_policies_refuse_options_they_do_not_have() -> None:
    cell = setup("noisy", "noisy").model_copy(update={"team": (SeatConfig(agent="noisy", options={"errr": 1}),)})
    with pytest.raises(ConfigError, match="error"):
        cell.make_team(cell.make_env(), 0, {})


def test_a_team_without_moves_fails_by_format_and_one_that_quarrels_by_agreement() -> None:
    assert {s.detail["cause"] for s in measure(("noop",) * 2, range(3), "easy")} == {"format"}
    causes = {s.detail["cause"] for s in measure(("scripted", "noisy"), range(40), "medium")}
    assert causes <= {None, "agreement", "wall"}


def test_the_floors_table_has_a_row_with_intervals_for_each_team() -> None:
    lines = list(table(3, "easy", ["half-map x2", "scripted x2"]))
    assert lines[-1].startswith("| scripted x2 | 1.000 (1.000 to 1.000) | 1.000 (0.")
    assert "half-map x2" in lines[1]
    assert {"half-map x2", "random-walk x2", "greedy x2", "scripted x2"} <= set(TEAMS)
    assert row("x", measure(("noop",) * 2, range(2), "easy")).endswith("2 format |")


# -- relay inference -------------------------------------------------------------------------------------------------


def weak(*interventions: str) -> Setup:
    return apply(setup("noisy", "noisy", level="medium"), interventions)


ARMS = {
    "none": (),
    "primer": ("primer:messages=4;agent=scripted@0",),
    "second seat": ("primer:messages=4;agent=scripted@1",),
    "canned": ("primer:messages=4;agent=scripted;words=canned@0",),
    "words only": ("primer:messages=4;agent=scripted;faculties=speak@0",),
    "never": ("primer:messages=0;agent=scripted@0",),
    "recovery": ("recovery:messages=4;agent=scripted@0",),
    "always": ("primer:messages=50;agent=scripted@0",),
}


SEEDS = range(30)


def told_of(folder: Path, names: Sequence[str], seeds: Sequence[int]) -> dict[str, Told]:
    """The arms of these names, played with these seeds."""
    cells = {name: weak(*ARMS[name]) for name in names}
    run = study(folder, list(cells.values()), seeds)
    with LogReader.open(log_path(run)) as reader:
        told = {cell.cell: cell for cell in tell(reader)}
    return {name: told[cell.cell] for name, cell in cells.items()}


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    return told_of(tmp_path_factory.mktemp("relay"), list(ARMS), SEEDS)


def reached(told: Told) -> float:
    value = told.values["weighted"].mean
    assert value is not None
    return value


def test_an_opener_with_content_beats_one_without_on_the_same_mazes(tmp_path: Path) -> None:
    few = told_of(tmp_path, ["none", "primer", "canned"], range(8))
    assert reached(few["primer"]) > reached(few["canned"])
    assert reached(few["primer"]) > reached(few["none"])


@pytest.mark.slow
def test_relay_improves_a_weak_pair(arms: dict[str, Told]) -> None:
    for name in ("primer", "second seat", "recovery"):
        gain = arms[name].against["weighted"]
        assert gain.difference.low is not None
        assert gain.difference.low > 0, name
        assert gain.p is not None
        assert gain.p < 0.05, name


@pytest.mark.slow
def test_the_controls_tell_the_openers_content_from_its_strength(arms: dict[str, Told]) -> None:
    """What the opener says carries the gain: its words alone bring it, its moves with empty words do not."""
    words, moves = arms["words only"].against["weighted"], arms["canned"].against["weighted"]
    assert words.difference.mean is not None
    assert moves.difference.mean is not None
    assert words.difference.mean > 2 * moves.difference.mean
    assert reached(arms["primer"]) - reached(arms["canned"]) > 0.1


@pytest.mark.slow
def test_a_relay_of_no_messages_changes_nothing(arms: dict[str, Told]) -> None:
    gain = arms["never"].against["weighted"]
    assert (gain.difference.mean, gain.difference.n) == (0, len(SEEDS))


@pytest.mark.slow
def test_a_relay_to_the_end_is_the_strong_agent(tmp_path: Path, arms: dict[str, Told]) -> None:
    run = study(tmp_path, [setup("scripted", "noisy", level="medium")], SEEDS)
    with LogReader.open(log_path(run)) as reader:
        (strong,) = tell(reader)
    assert strong.values["weighted"] == arms["always"].values["weighted"]


@pytest.mark.slow
def test_gains_are_one_family_for_holm(arms: dict[str, Told]) -> None:
    family = relay(arms.values(), "weighted")
    assert [cell.interventions for cell, _ in family] == [done for name, done in ARMS.items() if name != "none"]
    assert all(made.adjusted >= made.p for _, made in family if made.p is not None and made.adjusted is not None)


def test_canned_words_are_as_many_and_name_no_direction() -> None:
    assert len(canned("one two three").split()) == 3
    assert len(canned("word " * 100).split()) == 100
    assert not {"up", "down", "left", "right"} & set(CANNED.lower().replace(",", " ").split())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("primer:messages=4@0", "name the agent or the model"),
        ("primer:messages=-1;agent=scripted@0", "not possible"),
        ("primer:messages=4;agent=scriptd@0", "scripted"),
        ("primer:messages=4;agent=scripted;words=cand@0", "words"),
        ("recovery:messages=4;agent=scripted@5", "no seat 5"),
    ],
)
def test_relays_that_cannot_be_are_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        weak(name)


def test_alone_puts_the_first_seat_before_the_same_maze() -> None:
    pair = setup("scripted", "noisy", level="medium", env_options={"mode": "free"})
    solo = apply(pair, ["alone:view=full;review=true"])
    assert (solo.agents, solo.topology, [seat.agent for seat in solo.team]) == (1, "individual", ["scripted"])
    assert solo.make_env().reset(7).maze == make(2, "medium").reset(7).maze
    with pytest.raises(ConfigError, match="cube"):
        apply(Setup(), ["alone"])


def test_the_same_seed_is_played_the_same_again() -> None:
    env = make(2, "medium")
    assert play(env, ("noisy", "scripted"), 3) == play(env, ("noisy", "scripted"), 3)


# -- planted causes --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "named"),
    [("incompetent@0", "plan"), ("faculty:speak=noisy@0", "speak"), (None, None)],
)
def test_decomposition_tells_a_seat_that_cannot_act_from_one_that_misleads(
    tmp_path: Path, planted: str | None, named: str | None
) -> None:
    team = apply(setup("scripted", "scripted", level="medium"), [planted] if planted else [])
    design = by_faculty(team, seat=0, extent="single")
    run = study(tmp_path, design.setups(), range(9000, 9016))
    with LogReader.open(log_path(run)) as reader:
        records = read_records(reader)
    cells = {coalition: cell.cell for coalition, cell in design.cells.items()}
    found = culprit(single_effects(outcomes(records, cells, "progress")))
    assert (found.factors[0] if found else None) == named
