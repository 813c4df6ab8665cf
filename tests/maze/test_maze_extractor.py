"""The extractor of the free mode against ways that people read off the same words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.maze.maze_kit import maze_of
from tests.maze.maze_transcripts import AGAIN, BLIND, DEVELOPED, FRESH, HELD_OUT, LATER, MAZES, PLAIN, THIRD, Dialogue

from emcoop.envs.maze.extract import REASONS, Extraction, extract
from emcoop.envs.maze.rules import own_words
from emcoop.envs.maze.state import LETTERS, moved

ONE = maze_of(MAZES["one"])
WRITTEN_AFTER = [*HELD_OUT, *LATER, *FRESH, *AGAIN, *THIRD]
EVERY = [*DEVELOPED, *WRITTEN_AFTER]


def read(dialogue: Dialogue) -> Extraction:
    team = max(2, 1 + max(speaker for speaker, _ in dialogue.said))
    return extract(maze_of(MAZES[dialogue.maze]), dialogue.said, team)


def agrees(dialogue: Dialogue) -> bool:
    found = read(dialogue)
    if dialogue.way is None or found.reason:
        return dialogue.way is None and found.reason in REASONS
    way = [maze_of(MAZES[dialogue.maze]).start]
    for letter in dialogue.way:
        way.append(moved(way[-1], LETTERS[letter]))
    return found.path == tuple(way) and found.hit == dialogue.hit


def test_there_are_enough_dialogues_and_enough_that_cannot_be_resolved() -> None:
    assert len(EVERY) >= 40
    assert len(WRITTEN_AFTER) >= len(EVERY) / 2
    assert sum(dialogue.way is None for dialogue in EVERY) >= 10
    assert len({dialogue.name for dialogue in [*EVERY, *BLIND, *PLAIN]}) == len(EVERY) + len(BLIND) + len(PLAIN)


@pytest.mark.parametrize("dialogue", [*DEVELOPED, *FRESH, *AGAIN, *THIRD], ids=lambda dialogue: dialogue.name)
def test_the_way_is_the_one_that_was_read_off_by_hand(dialogue: Dialogue) -> None:
    assert agrees(dialogue), read(dialogue)


def test_rules_and_hand_agree_on_at_least_98_percent_of_all_dialogues() -> None:
    found = [agrees(dialogue) for dialogue in EVERY]
    assert sum(found) / len(found) >= 0.98


def test_nothing_is_guessed_where_the_hand_could_not_tell() -> None:
    unclear = [dialogue for dialogue in EVERY if dialogue.way is None]
    assert [dialogue.name for dialogue in unclear if not read(dialogue).reason] == []


@pytest.mark.parametrize("dialogue", [*BLIND, *PLAIN], ids=lambda dialogue: dialogue.name)
def test_hard_dialogues_are_read_as_by_hand_or_left_unresolved(dialogue: Dialogue) -> None:
    assert agrees(dialogue) or read(dialogue).reason, read(dialogue)


def test_most_of_them_are_resolved() -> None:
    assert sum(map(agrees, BLIND)) >= 48
    assert sum(map(agrees, PLAIN)) >= 63


@pytest.mark.parametrize(
    "answer", ["Bueno.", "Righty-ho.", "Sorted.", "Grand, that one is free for me.", "Thumbs high."]
)
@pytest.mark.parametrize("after", ["", " Then down?", " I propose down."])
def test_an_answer_in_unknown_words_leaves_the_way_unresolved(answer: str, after: str) -> None:
    said = [(0, "I propose right."), (1, "Agreed."), (0, "I propose right."), (1, answer + after)]
    said += [(0, "Agreed."), (1, "I propose down."), (0, "Agreed.")] if after else []
    assert extract(ONE, said, 2).reason == "unclear"


@pytest.mark.parametrize(
    "words", ["I propose to starboard.", "Let's go skyward.", "Starboard?", "Right, skyward, right."]
)
def test_agreement_to_a_proposal_that_is_not_understood_leaves_the_way_unresolved(words: str) -> None:
    said = [(0, "I propose right."), (1, "Agreed."), (0, words), (1, "Agreed."), (0, "Down?"), (1, "Yes.")]
    assert extract(ONE, said, 2).reason == "unclear"


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("<think>Left? I agree with left.</think>I propose right.", "R"),
        ("My row 1 reads: (1,0) wall, (1,1) wall. From (0,0) let's go right.", "R"),
        ('{"move": "right", "status": "proposed"}', "R"),
        ("$\\rightarrow \\rightarrow$?", "RR"),
        ("Option 1: up, up. Option 2: right, right.", ""),
        ("If we go down we hit a wall; right isn't blocked. So: two to the right.", "RR"),
    ],
)
def test_what_is_not_proposed_is_no_step(text: str, way: str) -> None:
    found = extract(ONE, [(0, text), (1, "Agreed.")], 2)
    assert len(found.path) == len(way) + 1
    assert found.reason == ("" if way else "ambiguous")


def test_two_walkers_are_not_one_team() -> None:
    said = [(0, "I moved right. I propose right."), (1, "Agreed. I'm at (0,0) and I moved down."), (0, "Agreed, down.")]
    assert extract(ONE, said, 2).reason == "unclear"


def test_walls_do_not_choose_the_scheme() -> None:
    """Row first leads into a wall, column first to the goal; both fit the words, so neither is taken."""
    rows = ("@#.", "...", "..*")
    said = [(0, "We start at (0,0). I propose (0,1)."), (1, "Agreed."), (0, "(1,1)?"), (1, "Agreed.")]
    assert extract(maze_of(rows), said, 2).reason == "ambiguous"
    said[0] = (0, "Cells are (row, column). We start at (0,0). I propose (0,1).")
    found = extract(maze_of(rows), said, 2)
    assert (found.path, found.hit) == (((0, 0),), "right")


def test_a_way_ends_at_the_goal() -> None:
    said = [(0, "R, R, D, D, D, R, R, R, R, R"), (1, "Agreed.")]
    found = extract(ONE, said, 2)
    assert found.path[-1] == ONE.goal
    assert found.hit == ""


def test_who_agrees_with_itself_has_agreed_to_nothing() -> None:
    said = [(0, "I propose right."), (0, "Agreed!"), (0, "Yes, right.")]
    assert extract(ONE, said, 2).path == ((0, 0),)


def test_lines_that_are_written_for_another_are_cut_off() -> None:
    text = "I propose right.\nagent_1: Agreed, right!\nagent_0: Now right again."
    assert own_words(text, 0, 2) == ("I propose right.\n", True)
    assert own_words("agent_0: I propose right.", 0, 2) == ("agent_0: I propose right.", False)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "right " * 5000,
        "(1,1) " * 3000,
        "R, " * 5000,
        "no " * 5000,
        "we are at " * 2000,
        "\n- " * 5000,
        "if we go right " * 1000,
        "I am not sure (1, " * 1000,
        "left or " * 2000,
        "→ ↓" * 2000,
        "agreed if " * 1000,
        "so far " * 1000,
        '{"to": {"row": ' * 200,
        "| right | yes | no |\n" * 100,
        "<think>" * 400,
        "option 1 or " * 200,
        "right, skyward, " * 200,
    ],
)
def test_a_text_made_to_be_read_in_endless_ways_is_read_to_its_end(text: str) -> None:
    found = extract(ONE, [(k % 2, text[:2000]) for k in range(50)], 2)
    assert found.path[0] == ONE.start


WORDS = st.sampled_from(
    [
        "right",
        "down",
        "no",
        "yes",
        "agreed",
        "(0,1)",
        "(1,2)",
        "B2",
        "r1c2",
        "we are at",
        "the goal is",
        "?",
        ".",
        "\n",
        "wait",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=6))
def test_any_words_give_a_valid_way_from_the_start_or_none(texts: list[str]) -> None:
    found = extract(ONE, list(enumerate(texts)), 2)
    assert found.path[0] == ONE.start
    assert not any(ONE.wall(cell) for cell in found.path)
    assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in zip(found.path, found.path[1:], strict=False))
    assert (found.reason == "") or len(found.path) == 1
