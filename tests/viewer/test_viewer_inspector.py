"""What the inspector tells of a decision: observation, prompts, answers, plan, feedback, tokens, money, latency."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from viewer_kit import Served, remade, until

from emcoop.log.events import Event
from emcoop.log.reader import LogReader

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
MODEL = "scripted:tests.interventions.waiting_model:answer"
"""A model that plans to wait, whatever it is asked; so it cannot speak."""


@pytest.fixture(scope="module")
def model_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One short episode of two seats of that model."""
    folder = tmp_path_factory.mktemp("model")
    axes = ["--level", "easy", "--agents", "2", "--topology", "decentralized", "--agent", "llm", "--model", MODEL]
    rest = ["--seeds", "0", "--no-references", "--set", "limits.max_steps=3", "--out", str(folder)]
    command = [sys.executable, "-m", "emcoop", "run", "cube", *axes, *rest]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder / "log.db"


def decisions(log: Path, faculty: str) -> list[Event]:
    with LogReader.open(log) as reader:
        return [e for e in reader.events(1, kinds=("decision",)) if e.payload["faculty"] == faculty]


def test_a_decision_of_a_model_opens_whole(page: Page, model_log: Path) -> None:
    with LogReader.open(model_log) as reader:
        call = next(e for e in reader.events(1, kinds=("model_call",)) if e.payload["faculty"] == "plan")
        prompts = [reader.blob(turn["content"]).decode() for turn in call.payload["prompt"]]
        answer = json.loads(reader.blob(call.payload["answer"]))
    plan = decisions(model_log, "plan")[0]
    with Served(model_log) as server:
        page.goto(f"{server.url}#/episode/1?sel={plan.seq}")
        inspector = page.locator("em-inspector")
        inspector.locator("h3").wait_for()
        page.evaluate("document.querySelectorAll('em-inspector details').forEach(e => { e.open = true; })")
        until(page, "document.querySelectorAll('em-inspector pre').length >= 4")
        until(page, "![...document.querySelectorAll('em-inspector pre')].some(e => e.textContent === '…')")
        texts = inspector.locator("pre").all_text_contents()
        words = inspector.inner_text()
    assert all(prompt in texts for prompt in prompts)
    assert answer in [json.loads(text) for text in texts if text.startswith("{")]
    assert any('"agent": "agent_0"' in text for text in texts)
    assert "wait(num_steps=1)" in words
    facts = ("simulated latency", "measured latency", "tokens read", "tokens written", "money", "finish reason")
    assert [fact for fact in facts if fact not in words] == []


def test_an_answer_that_was_of_no_use_says_why_and_what_stood_in_for_it(page: Page, model_log: Path) -> None:
    spoken = decisions(model_log, "speak")[0]
    with Served(model_log) as server:
        page.goto(f"{server.url}#/episode/1?sel={spoken.seq}")
        page.locator("em-inspector .call").first.wait_for()
        words = page.locator("em-inspector").inner_text()
    assert "Fallback: silence" in words
    assert "Not usable: invalid: recipients" in words
    assert "Model call 1 of 2" in words


def test_the_feedback_is_what_had_gone_wrong_since_the_last_plan(page: Page, run_log: Path, tmp_path: Path) -> None:
    failure = {"category": "SPATIAL", "code": "blocked", "message": "the way is blocked", "phase": "EXECUTION"}

    def spoil(event: Event) -> list[tuple[str, dict[str, object]]]:
        payload = dict(event.payload)
        if event.kind == "plan_ended" and payload["outcome"] == "done":
            payload.update(outcome="failed", failure={**failure, "detail": {}})
        return [(event.kind, payload)]

    log = remade(run_log, tmp_path / "log.db", spoil)
    with LogReader.open(log) as reader:
        ended = next(iter(reader.events(1, kinds=("plan_ended",))))
        later = [e for e in reader.events(1, kinds=("decision",), start_seq=ended.seq) if e.agent == ended.agent]
    plan = next(e for e in later if e.payload["faculty"] == "plan")
    with Served(log) as server:
        page.goto(f"{server.url}#/episode/1?sel={plan.seq}")
        page.locator("em-inspector details[open] .failure").first.wait_for()
        assert "the way is blocked" in page.locator("em-inspector").inner_text()
        page.goto("about:blank")
        page.goto(f"{server.url}#/episode/1?sel={decisions(log, 'plan')[0].seq}")
        page.get_by_text("Feedback it was given").click()
        page.get_by_text("Nothing had gone wrong since its last plan.").wait_for()
        page.goto("about:blank")
        page.goto(f"{server.url}#/episode/1?sel={ended.seq}")
        page.get_by_text(f"Plan {ended.payload['plan_id']} is failed after").wait_for()
