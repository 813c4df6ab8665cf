"""Why an episode was lost: the sentence, the point of no return that was found, and where both stand on the page."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from viewer_kit import DRAWN_TWICE, Served, opened, remade, until

from emcoop.analysis.attribution import KINDS, attribute
from emcoop.core.errors import CorruptLog, LogError
from emcoop.episode.fork import NoReturn
from emcoop.episode.kept import keep_no_return, kept_no_returns
from emcoop.log.reader import LogReader
from emcoop.viewer.export import export
from emcoop.viewer.why import why

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOST = 5
"""An episode of the floor, which no team of `random` wins in 40 steps."""


@pytest.fixture(scope="module")
def swept(run_log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A copy of the run, where the point of no return of a lost and of a won episode was asked for, and the answers."""
    folder = tmp_path_factory.mktemp("answered")
    shutil.copy(run_log, folder / "log.db")
    answers = []
    for number in (LOST, 1):
        command = [sys.executable, "-m", "emcoop", "fork", str(folder), str(number), "--sweep", "oracle", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout))
    return folder, answers


@pytest.fixture
def answered(swept: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> Path:
    """That run's log, to be changed at will."""
    return Path(shutil.copytree(swept[0], tmp_path / "answered")) / "log.db"


def test_a_point_of_no_return_is_kept_beside_the_log_which_stays_as_it_was(
    swept: tuple[Path, list[dict[str, Any]]], run_log: Path
) -> None:
    folder, answers = swept
    (found,) = why(folder / "log.db", LOST)["no_return"]
    assert {key: value for key, value in found.items() if key != "time"} == answers[0]
    with LogReader.open(run_log) as reader:
        step = next(e for e in reader.events(LOST, kinds=("step",)) if e.env_step == found["point_of_no_return"])
    assert found["time"] == step.cog_time
    assert (folder / "log.db").read_bytes() == run_log.read_bytes()


def test_the_sentence_is_that_of_the_attribution_and_only_lost_episodes_have_one(run_log: Path) -> None:
    with LogReader.open(run_log) as reader:
        expected = attribute(reader.events(LOST, kinds=KINDS))
    assert expected is not None
    found = why(run_log, LOST)
    assert found["lost"]
    assert found["failure"]["sentence"] == expected.sentence
    assert found["failure"]["since_time"] <= found["failure"]["time"]
    won = why(run_log, 1)
    assert (won["lost"], won["failure"], won["no_return"]) == (False, None, [])


def test_no_sentence_is_made_of_an_episode_too_long_to_be_read_whole(
    run_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emcoop.viewer.why.LONGEST", 100)
    found = why(run_log, LOST)
    assert (found["lost"], found["long"], found["failure"]) == (True, True, None)


def test_an_answer_about_another_attempt_is_passed_over_and_a_damaged_one_is_named(answered: Path) -> None:
    with LogReader.open(answered) as reader:
        row = reader.episode(LOST)
    (path,) = sorted((answered.parent / "answers").glob(f"no-return-{LOST}-*"))
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "digest": "another"}))
    assert kept_no_returns(answered, row) == []
    path.write_text("{")
    with pytest.raises(LogError, match=r"no-return-5-oracle\.json: no sound answer"):
        why(answered, LOST)
    kept = keep_no_return(answered, row, NoReturn(LOST, 40, False, None, "a/b:c"))
    assert kept.parent == answered.parent / "answers"
    path.unlink()
    assert [found.policy for found in kept_no_returns(answered, row)] == ["a/b:c"]


def test_a_log_whose_events_lack_what_the_sentence_needs_is_said_to_be_damaged(run_log: Path, tmp_path: Path) -> None:
    log = remade(
        run_log,
        tmp_path / "log.db",
        lambda e: [(e.kind, {} if e.kind == "plan_committed" else dict(e.payload))],
        number=LOST,
    )
    with pytest.raises(CorruptLog, match="why episode 1 failed cannot be told"):
        why(log, 1)


def test_the_page_tells_both_marks_them_and_leads_there(page: Page, answered: Path) -> None:
    with Served(answered) as server:
        found = server.json(f"api/episodes/{LOST}/why")
        step = found["no_return"][0]["point_of_no_return"]
        page.goto(f"{server.url}#/episode/{LOST}")
        reasons = page.get_by_role("region", name="Why it ended so")
        reasons.wait_for()
        assert found["failure"]["sentence"] in reasons.inner_text()
        assert f"Point of no return: step {step} of 40; a team of oracle could still have won" in reasons.inner_text()
        assert page.locator(".signs .sign-no-return").get_attribute("aria-label") == (
            f"Point of no return, step {step}: the last from which a team of oracle could have won"
        )
        page.locator("em-lanes .sign-line.no-return").wait_for(state="attached")
        reasons.get_by_role("button", name=f"step {step}", exact=True).click()
        until(page, "w => document.querySelector('output.moment').textContent.includes(w)", f"step {step} of")
        page.goto("about:blank")
        page.goto(f"{server.url}#/episode/1")
        page.get_by_text("none, the episode was won after").wait_for()


def test_where_it_was_not_computed_the_page_names_the_command_that_does(page: Page, served: Served) -> None:
    page.goto(f"{served.url}#/episode/{LOST}")
    reasons = page.get_by_role("region", name="Why it ended so")
    reasons.wait_for()
    assert f"{LOST} --sweep oracle" in reasons.locator("code").inner_text()
    with page.expect_response("**/api/episodes/1/why") as answer:
        opened(page, f"{served.url}#/episode/1")
    answer.value.finished()
    until(page, DRAWN_TWICE)
    assert page.locator("em-why").inner_text() == ""


def test_an_exported_file_has_the_reasons_too(page: Page, answered: Path, tmp_path: Path) -> None:
    export(answered, tmp_path / "run.html", [LOST])
    page.goto(f"{(tmp_path / 'run.html').as_uri()}#/episode/{LOST}")
    page.get_by_text("Point of no return:").wait_for()
    assert "ended by horizon" in page.locator(".why").inner_text()
