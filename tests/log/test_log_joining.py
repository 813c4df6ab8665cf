"""A log takes in another one whole: what it reads of it afterwards is what the other one read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from emcoop.core.errors import CorruptLog, LogError
from emcoop.core.seeds import Stream
from emcoop.log.database import SCHEMA
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

WORDS = [f"word{n}" for n in range(400)]


def text(seed: int) -> str:
    """Random words, enough of which train dictionaries."""
    stream = Stream(seed)
    return " ".join(stream.choice(WORDS) for _ in range(200))


def fill(path: Path, seeds: range, *, status: str = "finished", mark: str = "") -> None:
    """Write an episode of these seeds each, with a blob of its own, one that all share, and host facts."""
    with LogStore.open(path) as store:
        for seed in seeds:
            writer = store.start(cell="c", seed=seed, setup={"mark": mark})
            own, shared = writer.blob(text(seed) + mark), writer.blob("what all have")
            facts = {"measured_s": seed / 2}
            writer.append("note", {"own": own, "shared": shared}, cog_time=0, env_step=0, host=facts)
            writer.append("note", {"long": text(seed) + mark}, cog_time=1, env_step=0, agent="agent_0")
            if status != "running":
                writer.finish(status, {"seed": seed, "mark": mark})


def content(path: Path) -> dict[int, tuple[object, ...]]:
    """All that can be read of each episode, by its seed."""
    with LogReader.open(path) as reader:
        assert {problem for problem in reader.check() if "unknown kind" not in problem} == set()
        found: dict[int, tuple[object, ...]] = {}
        for row in reader.episodes():
            events = list(reader.events(row.id))
            blobs = [reader.blob(name) for event in events for name in event.payload.values() if len(name) == 64]
            assert row.digest in (None, reader.digest(row.id))
            found[row.seed] = row.status, row.setup, row.outcome, row.digest, events, blobs, list(reader.host(row.id))
        return found


def test_a_log_takes_in_others_with_dictionaries_of_their_own_and_goes_on(tmp_path: Path) -> None:
    first, second, whole = (tmp_path / f"{name}.db" for name in ("first", "second", "whole"))
    fill(first, range(200))
    fill(second, range(200, 400))
    fill(whole, range(400, 600))
    with LogStore.open(whole) as store:
        assert [store.take(first), store.take(second)] == [200, 200]
    fill(whole, range(600, 610))
    parts = {**content(first), **content(second)}
    found = content(whole)
    assert {seed: found[seed] for seed in range(400)} == parts
    assert sorted(found) == list(range(610))
    with sqlite3.connect(whole) as db:
        dictionaries = db.execute("SELECT count(*) FROM dictionaries").fetchone()[0]
        shared = db.execute("SELECT count(*) FROM blobs WHERE size = ?", (len("what all have"),)).fetchone()[0]
    assert dictionaries >= 6
    assert shared == 1


def test_a_finished_episode_is_left_alone_and_an_unfinished_attempt_is_replaced(tmp_path: Path) -> None:
    other, log = tmp_path / "other.db", tmp_path / "log.db"
    fill(log, range(3), mark="mine")
    fill(log, range(3, 6), status="failed", mark="mine")
    fill(log, range(6, 7), status="running", mark="mine")
    fill(other, range(8), mark="other")
    fill(other, range(8, 9), status="running", mark="other")
    with LogStore.open(log) as store:
        assert store.take(other) == 6
        assert store.take(other) == 1, "what was cut off comes again, in place of itself"
        assert store.episodes()[-1].status == "interrupted"
    found = content(log)
    assert {seed: (row[0], row[1]) for seed, row in found.items()} == {
        **{seed: ("finished", {"mark": "mine"}) for seed in range(3)},
        **{seed: ("finished", {"mark": "other"}) for seed in range(3, 8)},
        8: ("interrupted", {"mark": "other"}),
    }
    with sqlite3.connect(log) as db:
        assert db.execute("SELECT sum(count), count(DISTINCT episode) FROM chunks").fetchone() == (18, 9)


def test_nothing_is_taken_while_an_episode_is_being_written_nor_from_what_is_no_log(tmp_path: Path) -> None:
    log, other = tmp_path / "log.db", tmp_path / "other.db"
    fill(other, range(2))
    with LogStore.open(log) as store:
        writer = store.start(cell="c", seed=5, setup={})
        with pytest.raises(LogError, match="nothing can be taken in while an episode is being written"):
            store.take(other)
        writer.finish("finished", {})
        broken = tmp_path / "broken.db"
        broken.write_bytes(b"no database" * 1000)
        with pytest.raises(CorruptLog, match=r"broken\.db"):
            store.take(broken)
        assert store.take(other) == 2
    assert sorted(content(log)) == [0, 1, 5]


def test_a_log_of_another_schema_is_refused_and_named(tmp_path: Path) -> None:
    log, other = tmp_path / "log.db", tmp_path / "other.db"
    fill(other, range(2))
    with sqlite3.connect(other) as db:
        db.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
    with LogStore.open(log) as store, pytest.raises(LogError, match=rf"other\.db: the log has schema 0, not {SCHEMA}"):
        store.take(other)
