"""What the benchmarks keep, and the page made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.common import Median, Timing, profiled, read, record, repeated, show, told
from benchmarks.page import NOT_MEASURED, page, write_page
from benchmarks.promises import PROMISES

from benchmarks import __main__ as runner


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMCOOP_BENCH_RESULTS", str(tmp_path))
    monkeypatch.setenv("EMCOOP_BENCH_SCRIPT", "cube_steps")
    return tmp_path


def figures(folder: Path, script: str = "cube_steps") -> dict[str, dict[str, object]]:
    found = read(folder / f"{script}.json")
    assert found is not None
    return {figure["name"]: figure for figure in found["figures"]}


def line(text: str, words: str) -> str:
    (found,) = [row for row in text.splitlines() if row.startswith(f"| {words} |")]
    return found


def test_a_run_that_measured_nothing_shows_every_promise_as_not_measured() -> None:
    text = page([])
    assert all(NOT_MEASURED in line(text, promise.what) for promise in PROMISES)
    assert "MISSED" not in text
    assert "| met |" not in text


def test_met_and_missed_targets_stand_beside_what_was_measured(results: Path) -> None:
    record("step_us", Timing((10.0, 20.0, 90.0)), "us", 25.0)
    record("batch_3", 400_000, "team steps/s", 1_000_000, more_is_better=True, note="Memory is slow here.")
    text = write_page(results, results / "performance.md")
    assert line(text, "one step from Python, n=3") == (
        "| one step from Python, n=3 | under 25 us | 20 us [10, 90], n=3 | met |"
    )
    assert line(text, "compiled batch, n=3") == (
        "| compiled batch, n=3 | at least 1,000,000 team steps/s | 400,000 team steps/s | **MISSED** |"
    )
    assert "### CUBE: compiled batch, n=3" in text
    assert "Memory is slow here." in text
    assert "### CUBE: one step" not in text
    assert (results / "performance.md").read_text(encoding="utf-8") == text


def test_peers_of_the_same_script_stand_in_the_row(results: Path) -> None:
    record("batch_3", 300_000, "team steps/s", 200_000, more_is_better=True, script="ma_crafter_steps")
    words = "compiled batch, n=3, all mechanics"
    assert "Crafter itself" not in line(write_page(results, results / "performance.md"), words)
    record("crafter", 250, "steps/s", script="ma_crafter_steps")
    text = write_page(results, results / "performance.md")
    assert line(text, words) == (
        f"| {words} | at least 200,000 team steps/s | 300,000 team steps/s; "
        "Crafter itself, one agent, with its pictures: 250 | met |"
    )


def test_only_a_missed_target_is_profiled(results: Path) -> None:
    calls: list[int] = []
    record("met", 1.0, "s", 2.0, profile=lambda: calls.append(1))
    assert calls == []
    record("missed", 3.0, "s", 2.0, profile=lambda: sorted(calls))
    assert figures(results)["met"]["profile"] == []
    assert figures(results)["missed"]["profile"]


def test_a_figure_measured_again_replaces_the_earlier_one(results: Path) -> None:
    record("step_us", 1.0, "us")
    record("other", 5.0, "us")
    record("step_us", 2.0, "us")
    assert {name: figure["value"] for name, figure in figures(results).items()} == {"other": 5.0, "step_us": 2.0}


def test_what_a_script_only_returns_is_recorded_with_the_promised_target(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import cube_steps

    def main() -> dict[str, float]:
        record("step_us", Timing((30.0, 31.0)), "us", 25.0)
        return {"step_us": 30.5, "batch_3": Median((1e6, 9e6, 2e6)), "unknown": 7.0}

    monkeypatch.setattr(cube_steps, "main", main)
    runner.measure("cube_steps")
    found = figures(results)
    rate = found["batch_3"]
    assert (rate["target"], rate["met"]) == (1_000_000, True)
    assert (rate["value"], rate["low"], rate["high"], rate["n"]) == (2e6, 1e6, 9e6, 3)
    assert (found["step_us"]["n"], found["step_us"]["met"]) == (2, False)
    assert found["unknown"]["target"] is None


def test_the_busiest_function_leads_a_profile() -> None:
    def square(i: int) -> int:
        return i * i

    def busy() -> int:
        total = 0
        for i in range(200_000):
            total += abs(square(i))
        return total

    rows = profiled(busy, top=3)
    assert len(rows) == 3
    assert "test_performance_page.py" in rows[0]["where"]
    assert {row["calls"] for row in rows} == {1, 200_000}
    assert rows[0]["share"] >= rows[1]["share"] >= rows[2]["share"]
    assert sum(row["share"] for row in rows) <= 1.0 + 1e-9


def test_repeated_measurements_leave_the_first_one_out() -> None:
    values = iter((100.0, 3.0, 1.0, 2.0))
    timing = repeated(lambda: next(values), 3)
    assert (timing.median, timing.low, timing.high, len(timing.values)) == (2.0, 1.0, 3.0, 3)


def test_a_figure_is_told_in_one_line_with_its_peer(results: Path) -> None:
    rates, peer = Timing((1500.0, 2500.0, 2000.0)), ("crafter", 250)
    figure = record("rate", rates, "steps/s", 1000, more_is_better=True, what="ours", peer=peer)
    said = "ours: 2,000 [1,500, 2,500] steps/s, median of 3 (target at least 1,000: met); crafter: 250"
    assert told(figure) == said
    assert [show(x) for x in (0, 0.02899, 3.456, 123.4, 1_234_567)] == ["0", "0.029", "3.46", "123", "1,234,567"]


def test_an_unknown_benchmark_is_named_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["cube_step"]) == 2
    assert "no benchmark 'cube_step'; there are cube_steps, " in capsys.readouterr().err


def test_kept_results_are_plain_json(results: Path) -> None:
    record("step_us", 1.0, "us")
    kept = json.loads((results / "cube_steps.json").read_text())
    assert kept["command"] == "python -m benchmarks.cube_steps"
    assert set(kept["machine"]) == {"cpu", "cores", "memory_gb", "load", "python", "numba", "numpy", "system"}


def test_what_the_soak_found_stands_on_the_page_and_survives_a_run_of_the_benchmarks(results: Path) -> None:
    assert "Not measured here." in page([])
    verdicts = [
        {"what": "memory does not grow", "found": "+0.1 MB a round", "good": True},
        {"what": "no event is missing", "found": "9 of 10", "good": False},
    ]
    limits = {"memory_mb": 4096, "files": 64}
    found = {"at": "2026-01-01", "minutes": 60.2, "episodes": 9, "events": 10, "kills": 3, "limits": limits}
    found |= {"rounds": 1, "killed_rounds": 1}
    (results / "soak.json").write_text(json.dumps({**found, "verdicts": verdicts}))
    text = write_page(results, results / "performance.md")
    assert line(text, "memory does not grow") == "| memory does not grow | +0.1 MB a round | yes |"
    assert line(text, "no event is missing") == "| no event is missing | 9 of 10 | **no** |"
    assert not set(runner.KEPT) & set(runner.NAMES)
