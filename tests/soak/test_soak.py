"""The soak finds growth and loss where there is any, and none in a run that is killed and resumed."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest
from soak_worker import answer, serving

from emcoop.log.store import LogStore
from soak import Report, finished, judge_growth, judge_loss, samples

SOAK = Path(__file__).parents[2] / "scripts" / "soak.py"


def growth(memory: Sequence[float], files: Sequence[float]) -> dict[str, bool]:
    report = Report()
    judge_growth(report, [{"rss_mb": m, "fds": f} for m, f in zip(memory, files, strict=True)])
    return {verdict.what: verdict.good for verdict in report.verdicts}


def test_a_leak_of_memory_or_files_is_growth_and_noise_is_none() -> None:
    noise = [200 + 3 * ((7 * i) % 5) for i in range(20)]
    leak = [value + 2 * i for i, value in enumerate(noise)]
    flat, opened = [4.0] * 20, [4.0 + i for i in range(20)]
    memory, files = "memory grows by less than 5% in a run", "open files grow by less than 5% in a run"
    assert growth(noise, flat) == {memory: True, files: True}
    assert growth(leak, flat) == {memory: False, files: True}
    assert growth(noise, opened) == {memory: True, files: False}


def test_too_few_rounds_prove_nothing() -> None:
    assert growth([200.0] * 4, [4.0] * 4) == {"growth": False}


def log(folder: Path, seeds: Sequence[int], events: int = 3) -> Path:
    with LogStore.open(folder / "run0000" / "log.db") as store:
        for seed in seeds:
            writer = store.start(cell="c", seed=seed, setup={})
            for i in range(events):
                writer.append("stage", {"from": None, "to": "R"}, cog_time=i, env_step=0, agent="agent_0")
            writer.finish("finished", {})
    return folder


def loss(calm: Path, shaken: Path, lost: Sequence[str] = ()) -> set[str]:
    report = Report()
    judge_loss(report, calm, shaken, 1, lost)
    return {verdict.what for verdict in report.verdicts if not verdict.good}


def test_equal_logs_have_lost_nothing(tmp_path: Path) -> None:
    assert loss(log(tmp_path / "a", (0, 1)), log(tmp_path / "b", (1, 0))) == set()


def test_missing_extra_and_different_episodes_are_each_found(tmp_path: Path) -> None:
    whole = log(tmp_path / "whole", (0, 1))
    events = {"every episode is there, once", "no event is missing"}
    assert loss(whole, log(tmp_path / "short", (0,))) == events
    assert loss(whole, log(tmp_path / "more", (0, 1, 2))) == events
    differ = {"digests equal the undisturbed run's", "no event is missing"}
    assert loss(whole, log(tmp_path / "other", (0, 1), events=2)) == differ
    assert loss(whole, whole, lost=["c seed 0"]) == {"nothing finished is lost by a kill"}


def test_a_folder_without_a_log_has_nothing_finished_and_a_torn_sample_is_left_out(tmp_path: Path) -> None:
    assert finished(tmp_path) == {}
    (tmp_path / "samples.jsonl").write_text('{"round": 1}\n{"round": 2}\n{"rou')
    assert samples(tmp_path) == [{"round": 1}, {"round": 2}]


def test_the_server_answers_by_content_alone_and_refuses_a_request_at_most_once() -> None:
    def ask(url: str, text: str) -> tuple[int, str]:
        messages = [{"role": "system", "content": "rules"}, {"role": "user", "content": text}]
        body = json.dumps({"messages": messages}).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body), timeout=20) as reply:
                return reply.status, json.load(reply)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    texts = [f"# Wanted: a plan {i}" for i in range(200)]
    with serving() as url:
        first = [ask(url, text) for text in texts]
        again = [ask(url, text) for text in texts]
    assert {status for status, _ in first} == {200, 429}
    assert {status for status, _ in again} == {200}
    system = {"role": "system", "content": "rules"}
    assert [said for _, said in again] == [answer([system, {"role": "user", "content": text}]) for text in texts]


def test_without_any_minutes_nothing_is_played() -> None:
    done = subprocess.run(
        [sys.executable, str(SOAK), "--minutes", "0"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "--minutes must be above 0" in done.stderr


@pytest.mark.slow
def test_a_run_under_limits_and_kills_neither_grows_nor_loses_anything(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    command = [sys.executable, str(SOAK), "--minutes", "16", "--kills", "3", "--json", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(found.read_text())
    assert document["good"]
    assert document["kills"] >= 1
    assert document["episodes"] == 9 * document["rounds"]
    assert len(document["verdicts"]) == 9
