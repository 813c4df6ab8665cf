"""The program as a user calls it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emcoop.core.canonical import canonical_json
from emcoop.log.lines import event_line, kind_bits
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore


def emcoop(*args: str, stdin: str = "", code: int = 0, cwd: Path | None = None) -> tuple[str, str]:
    """Standard output and standard error of `emcoop`; its exit code must be this one."""
    done = subprocess.run(
        [sys.executable, "-m", "emcoop", *args], input=stdin, capture_output=True, text=True, timeout=300, cwd=cwd
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("cli") / "run"
    axes = ["--level", "hard", "--agents", "3", "--topology", "centralized", "--agent", "scripted"]
    out, _ = emcoop("run", "cube", *axes, "--seeds", "0-4", "--json", "--out", str(folder))
    return folder, json.loads(out)


def test_run_prints_one_row_per_cell_with_intervals_and_references_apart(run: tuple[Path, dict[str, Any]]) -> None:
    _, document = run
    (row,) = document["rows"]
    assert (row["topology"], row["agent"], row["n"]) == ("centralized", "scripted", 5)
    assert list(row["metrics"]) == [f"M{k}" for k in range(1, 19)]
    for estimate in (row["success"], row["progress"], *row["metrics"].values()):
        assert estimate["low"] <= estimate["mean"] <= estimate["high"]
        assert estimate["n"] == 5
    assert [r["agent"] for r in document["references"]] == ["random", "noop", "oracle"]


def test_a_sweep_takes_no_other_change_of_the_episode(run: tuple[Path, dict[str, Any]]) -> None:
    for option in (("--at", "3"), ("--swap", "agent_0=noop"), ("--drop", "1")):
        _, told = emcoop("fork", str(run[0]), "1", "--sweep", "oracle", *option, code=1)
        assert "--sweep goes over all steps" in told


def test_report_prints_the_same_and_writes_a_page(run: tuple[Path, dict[str, Any]]) -> None:
    folder, document = run
    out, _ = emcoop("report", str(folder), "--json")
    assert json.loads(out)["rows"] == document["rows"]
    page = (folder / "report.html").read_text()
    assert "M13" in page
    assert "ceiling: oracle" in emcoop("report", str(folder))[0]


def test_tables_fit_a_terminal_of_a_hundred_columns(run: tuple[Path, dict[str, Any]]) -> None:
    out, _ = emcoop("report", str(run[0]))
    assert max(map(len, out.splitlines())) <= 100


def test_replay_proves_every_state_and_prints_the_digest(run: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = run
    out, _ = emcoop("replay", str(folder), "--verify", "--json")
    proofs = json.loads(out)["verified"]
    assert len(proofs) == 20
    listed = json.loads(emcoop("replay", str(folder), "--json")[0])["episodes"]
    assert [p["digest"] for p in proofs] == [e["digest"] for e in listed]
    text, _ = emcoop("replay", str(folder), "1")
    assert text.splitlines()[-1] == f"digest {listed[0]['digest']}"
    assert "plan_committed" in text


def test_replay_says_which_step_a_falsified_log_lies_about(run: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, _ = run
    forged = tmp_path / "log.db"
    forged.write_bytes((folder / "log.db").read_bytes())
    with LogReader.open(folder / "log.db") as reader:
        events = list(reader.events(1))
    other = next(event.payload for event in events if (event.kind, event.env_step) == ("step", 3))
    lines = b"".join(
        event_line(e.seq, e.cog_time, e.env_step, e.agent, e.kind, canonical_json(other if lied else e.payload))
        for e in events
        for lied in ((e.kind, e.env_step) == ("step", 2),)
    )
    with sqlite3.connect(forged) as db:
        db.execute("DELETE FROM chunks WHERE episode = 1")
        kinds = kind_bits(event.kind for event in events)
        db.execute("INSERT INTO chunks VALUES (1, 0, ?, ?, 0, 0, ?)", (len(events), kinds, lines))
    _, said = emcoop("replay", str(forged), "1", "--verify", code=1)
    assert "the world after step 2 has state" in said


def test_export_writes_one_line_per_event(run: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    target = tmp_path / "one.jsonl"
    emcoop("replay", str(run[0]), "1", "--export", str(target))
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert lines[0]["type"] == "episode"
    assert lines[-1]["kind"] == "episode_end"


def test_the_same_command_names_the_same_folder_and_plays_nothing_twice(tmp_path: Path) -> None:
    command = ("run", "cube", "--seeds", "0", "--no-references", "--json")
    first, second = (json.loads(emcoop(*command, cwd=tmp_path)[0]) for _ in range(2))
    assert first == second
    assert (tmp_path / first["run"] / "run.yaml").exists()


def test_a_run_file_gives_the_axes_and_flags_win(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("env: cube\nagents: [1, 2]\nseeds: 0\nreferences: []\n")
    out, _ = emcoop("run", "m.yaml", "--agents", "2", "--json", cwd=tmp_path)
    assert [row["agents"] for row in json.loads(out)["rows"]] == [2]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "cubes"), "unknown environment 'cubes'; did you mean 'cube'?"),
        (("run", "cube", "--level", "hrd"), "did you mean 'hard'?"),
        (("run", "cube", "--topology", "central"), "did you mean 'centralized'?"),
        (("run", "cube", "--agent", "skripted"), "did you mean 'scripted'?"),
        (("run", "cube", "--agents", "0"), "agents"),
        (("run", "cube", "--agents", "99"), "99 agents do not fit"),
        (("run", "cube", "--seeds", "9-1"), "the range 9-1 is empty"),
        (("run", "cube", "--set", "limits.max_token=1"), "did you mean 'max_tokens'?"),
        (("run", "cube", "--agent", "llm"), "--model"),
        (("run", "cube", "--agent", "llm", "--model", "opnai:x"), "did you mean 'openai'?"),
        (("run", "cube", "--agent", "llm", "--model", "anthropic:claude"), "ANTHROPIC_API_KEY"),
        (("run", "cube", "--agent", "llm", "--model", "local:smolm2"), "did you mean 'smollm2'?"),
        (("run", "cube", "--intervention", "silent"), "did you mean 'silence'?"),
        (("run", "missing.yaml"), "missing.yaml: no such file"),
        (("report", "nowhere"), "nowhere"),
        (("replay", "nowhere"), "nowhere"),
        (("models", "pull", "smolm2"), "did you mean 'smollm2'?"),
    ],
)
def test_bad_input_gets_one_message_that_names_it(args: tuple[str, ...], said: str, tmp_path: Path) -> None:
    _, err = emcoop(*args, code=1, cwd=tmp_path)
    assert said in err
    assert err.count("error:") == 1


def test_a_log_that_another_process_writes_is_said_to_be_locked(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "run" / "log.db"):
        _, err = emcoop("run", "cube", "--out", str(tmp_path / "run"), code=1)
    assert "log.db" in err


def test_a_corrupt_log_and_one_of_a_newer_schema_are_refused_by_name(
    run: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "log.db").write_bytes(b"no database at all" * 100)
    for command in ("report", "replay", "doctor"):
        _, err = emcoop(command, str(torn), code=1)
        assert "log.db" in err
    newer = tmp_path / "newer"
    newer.mkdir()
    (newer / "log.db").write_bytes((run[0] / "log.db").read_bytes())
    with sqlite3.connect(newer / "log.db") as db:
        db.execute("UPDATE meta SET value = '999' WHERE key = 'schema'")
    _, err = emcoop("report", str(newer), code=1)
    assert "999" in err


def test_everything_can_be_listed_with_a_description(tmp_path: Path) -> None:
    for kind in ("envs", "topologies", "agents", "models", "metrics", "interventions"):
        items = json.loads(emcoop("list", kind, "--json")[0])[kind]
        assert items
        assert all(item["name"] and item["description"] for item in items)


def test_doctor_examines_the_machine_and_a_log(run: tuple[Path, dict[str, Any]]) -> None:
    findings = json.loads(emcoop("doctor", "--json")[0])["findings"]
    assert {"emcoop", "sqlite", "model smollm2"} <= {f["what"] for f in findings}
    assert "nothing wrong" in emcoop("doctor", str(run[0]))[0]


def test_a_human_plays_at_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    _, err = emcoop("play", "cube", "--agents", "1", "--topology", "individual", "--out", str(folder), stdin="wait 2\n")
    assert "Blocks:" in err
    out, _ = emcoop("replay", str(folder), "1")
    assert "wait(num_steps=2)" in out
