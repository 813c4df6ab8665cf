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
from soak import WHAT, Report, finished, judge_growth, judge_loss, samples, slope

SOAK = Path(__file__).parents[2] / "scripts" / "soak.py"


MEMORY, NATIVE, BLOCKS, FILES = (what for what, _ in WHAT.values())


def growth(memory: Sequence[float], files: Sequence[float], blocks: Sequence[int] = (800_000,) * 200) -> set[str]:
    report = Report()
    held = zip(memory, blocks, files, strict=True)
    judge_growth(report, [{"rss_mb": m, "native_mb": m / 5, "blocks": b, "fds": f} for m, b, f in held])
    return {verdict.what for verdict in report.verdicts if not verdict.good}


def test_a_leak_of_memory_or_files_is_growth_and_noise_is_none() -> None:
    noise = [240 + 0.3 * ((7 * i) % 5) for i in range(200)]
    leak = [value + 0.1 * i for i, value in enumerate(noise)]
    flat, opened = [4.0] * 200, [4.0 + i // 10 for i in range(200)]
    assert growth(noise, flat) == set()
    assert growth(leak, flat) == {MEMORY, NATIVE}
    assert growth(noise, opened) == {FILES}
    assert growth(noise, flat, [800_000 + 500 * i for i in range(200)]) == {BLOCKS}


def test_what_fills_up_in_the_first_half_is_no_growth() -> None:
    assert growth([200.0 + min(i, 99) for i in range(200)], [4.0] * 200) == set()
    assert growth([200.0 + i for i in range(200)], [4.0] * 200) == {MEMORY, NATIVE}


def test_the_interval_of_a_slope_counts_groups_of_rounds_and_not_each_of_them() -> None:
    walk = [240 + 0.01 * (i // 10) + (0.5 if i % 20 < 10 else 0.0) for i in range(100)]
    middle, low, high = slope(walk)
    assert low < 0 < high
    assert middle == pytest.approx(0.001, abs=0.005)


def test_too_few_rounds_prove_nothing() -> None:
    assert growth([200.0] * 14, [4.0] * 14, [1] * 14) == {"nothing grows"}


def log(folder: Path, seeds: Sequence[int], events: int = 3) -> Path:
    with LogStore.open(folder / "log.db") as store:
        for seed in seeds:
            writer = store.start(cell="c", seed=seed, setup={})
            for i in range(events):
                writer.append("stage", {"from": None, "to": "R"}, cog_time=i, env_step=0, agent="agent_0")
            writer.finish("finished", {})
    return folder


def loss(calm: Path, shaken: Path, lost: Sequence[str] = ()) -> set[str]:
    report = Report()
    judge_loss(report, calm, shaken, 1, lost, range(10))
    return {verdict.what for verdict in report.verdicts if not verdict.good}


def test_equal_logs_have_lost_nothing(tmp_path: Path) -> None:
    assert loss(log(tmp_path / "a", (0, 1)), log(tmp_path / "b", (1, 0))) == set()


def test_what_the_undisturbed_run_played_beyond_the_killed_one_is_not_missing(tmp_path: Path) -> None:
    assert loss(log(tmp_path / "a", (0, 1, 10, 11)), log(tmp_path / "b", (0, 1))) == set()


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
            with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body), timeout=60) as reply:
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


def test_without_any_rounds_nothing_is_played() -> None:
    done = subprocess.run(
        [sys.executable, str(SOAK), "--rounds", "0"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "--killed-rounds is 1 to --rounds" in done.stderr


@pytest.mark.slow
def test_a_run_under_limits_and_kills_neither_grows_nor_loses_anything(tmp_path: Path) -> None:
    """So few rounds do not fill the caches: of memory, only that it does not grow by far more than they do."""
    found = tmp_path / "found.json"
    command = [sys.executable, str(SOAK), "--rounds", "16", "--killed-rounds", "5", "--kills", "3"]
    command += ["--allowed-mb", "2.5", "--allowed-native-mb", "0.6", "--allowed-blocks", "10000", "--json", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(found.read_text())
    assert document["good"]
    assert document["kills"] >= 1
    assert document["episodes"] == 9 * document["rounds"]
    assert len(document["verdicts"]) == 11
