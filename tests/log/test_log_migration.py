"""A log of an older schema becomes one of the present schema, with all that it tells."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard
from log_samples import SAMPLES, TEAM

from emcoop.core.errors import CorruptLog, LogError
from emcoop.core.seeds import Stream
from emcoop.log.chunks import CHUNK_EVENTS
from emcoop.log.database import SCHEMA
from emcoop.log.events import Event
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

SCHEMA_1 = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE episodes(
    id INTEGER PRIMARY KEY, cell TEXT NOT NULL, seed INTEGER NOT NULL, status TEXT NOT NULL, setup TEXT NOT NULL,
    outcome TEXT, digest TEXT, UNIQUE(cell, seed)
);
CREATE TABLE events(
    episode INTEGER NOT NULL, seq INTEGER NOT NULL, cog_time INTEGER NOT NULL, env_step INTEGER NOT NULL, agent TEXT,
    kind TEXT NOT NULL, codec INTEGER NOT NULL, payload NOT NULL
);
CREATE UNIQUE INDEX events_in_order ON events(episode, seq);
CREATE TABLE host(episode INTEGER NOT NULL, seq INTEGER NOT NULL, payload TEXT NOT NULL, PRIMARY KEY(episode, seq))
    WITHOUT ROWID;
CREATE TABLE blobs(hash BLOB PRIMARY KEY, pack INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE packs(id INTEGER PRIMARY KEY, codec INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE dictionaries(id INTEGER PRIMARY KEY, purpose TEXT NOT NULL, data BLOB NOT NULL);
INSERT INTO meta VALUES ('schema', '1');
PRAGMA application_id=1162691407;
"""
"""The tables as the first version of emcoop made them."""

EPISODES = {1: 700, 2: 30, 4: 0}
"""How many events each has; the second was cut off, the last has none."""

BLOB = b"a state that is kept"


def events(episode: int) -> list[Event]:
    """Of every kind, with words in them that are hard to write."""
    stream = Stream(episode)
    found = []
    for seq in range(EPISODES[episode]):
        kind = stream.choice([*SAMPLES, 'odd "kind"\u2028'])
        words = " ".join(stream.choice(["push", "wait", "é", "\u2028", '"', "\\", "a\ud800"]) for _ in range(seq % 60))
        payload = {**SAMPLES.get(kind, {}), "content": words} if kind in ("message_sent", 'odd "kind"\u2028') else None
        agent = None if kind in TEAM else stream.choice(["agent_0", "ä, 1"])
        found.append(Event(seq, seq * 7, seq // 3, agent, kind, payload or SAMPLES[kind]))
    return found


def canonical(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def digest(found: list[Event]) -> str:
    lines = (canonical([e.seq, e.cog_time, e.env_step, e.agent, e.kind, e.payload]) + b"\n" for e in found)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def facts(found: list[Event]) -> list[tuple[int, dict[str, Any]]]:
    return [(e.seq, {"latency_s": e.seq / 8}) for e in found if e.seq % 5 == 0]


def write_schema_1(path: Path) -> None:
    """Payloads in all three codecs: text, zstd, and zstd with a dictionary."""
    samples = [canonical(event.payload) for event in events(1)]
    dictionary = zstandard.train_dictionary(4096, samples)
    packers = {1: zstandard.ZstdCompressor(), 2: zstandard.ZstdCompressor(dict_data=dictionary, write_dict_id=False)}
    db = sqlite3.connect(path)
    db.executescript(SCHEMA_1)
    packed = zstandard.ZstdCompressor().compress(dictionary.as_bytes())
    db.executemany("INSERT INTO dictionaries VALUES (?, ?, ?)", [(2, "event", packed), (3, "blob", packed)])
    db.execute("INSERT INTO packs VALUES (1, 0, ?)", (BLOB,))
    db.execute("INSERT INTO blobs VALUES (?, 1, 0, ?)", (hashlib.sha256(BLOB).digest(), len(BLOB)))
    for episode in EPISODES:
        found = events(episode)
        row = (episode, "c", episode, "finished", '{"env":"cube"}', '{"limit":"success"}', digest(found))
        if episode == 2:
            row = (*row[:3], "interrupted", row[4], None, None)
        db.execute("INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for event in found:
            body, codec = canonical(event.payload), event.seq % 3
            stored = packers[codec].compress(body) if codec else body.decode()
            values = (episode, event.seq, event.cog_time, event.env_step, event.agent, event.kind, codec, stored)
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        for seq, fact in facts(found):
            db.execute("INSERT INTO host VALUES (?, ?, ?)", (episode, seq, canonical(fact).decode()))
    db.commit()
    db.close()


def shape(path: Path) -> dict[str, object]:
    """The tables and indices of a log, with their columns."""
    with sqlite3.connect(path) as db:
        names = db.execute("SELECT name, tbl_name FROM sqlite_master ORDER BY name").fetchall()
        found: dict[str, object] = {
            name: (of, db.execute(f"PRAGMA table_xinfo({name})").fetchall()) for name, of in names
        }
        for name, _ in names:
            found[f"{name} index"] = db.execute(f"PRAGMA index_xinfo({name})").fetchall()
        return found


def test_a_log_of_schema_1_tells_the_same_after_its_migration(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    write_schema_1(path)
    with pytest.raises(LogError, match=f"schema 1, this emcoop reads {SCHEMA}; opening it to write migrates it"):
        LogReader.open(path)
    LogStore.open(path).close()
    with LogReader.open(path) as reader:
        assert [(row.id, row.status) for row in reader.episodes()] == [
            (1, "finished"),
            (2, "interrupted"),
            (4, "finished"),
        ]
        for episode in EPISODES:
            expected = events(episode)
            assert list(reader.events(episode)) == expected
            assert reader.digest(episode) == digest(expected)
            assert list(reader.host(episode)) == facts(expected)
            for kind in ("step", 'odd "kind"\u2028'):
                assert list(reader.events(episode, (kind,))) == [event for event in expected if event.kind == kind]
        assert [row.digest for row in reader.episodes()] == [digest(events(1)), None, digest(events(4))]
        assert {line for line in reader.check() if "unknown kind" not in line} == set()
        assert reader.blob(hashlib.sha256(BLOB).hexdigest()) == BLOB
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT value FROM meta").fetchall() == [(str(SCHEMA),)]
        assert db.execute("SELECT purpose FROM dictionaries ORDER BY id").fetchall()[0] == ("blob",)
        assert db.execute("SELECT max(count) FROM chunks").fetchone() == (CHUNK_EVENTS,)


def test_a_migrated_log_has_the_tables_of_a_new_one_and_is_written_on(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    write_schema_1(old)
    for path in (old, new):
        with LogStore.open(path) as store:
            for seed in (2, 9):
                writer = store.start(cell="c", seed=seed, setup={})
                writer.append("note", {"text": "word " * 90}, cog_time=0, env_step=0, host={"t": 1})
                writer.finish("finished", {})
    assert shape(old) == shape(new)
    with LogReader.open(old) as reader:
        assert [row.seed for row in reader.episodes()] == [1, 4, 2, 9]
        assert all(reader.digest(row.id) == row.digest for row in reader.episodes())


def test_a_damaged_log_of_schema_1_is_named_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    write_schema_1(path)
    with sqlite3.connect(path) as db:
        before = db.execute("SELECT count(*) FROM events").fetchone()
        kept = db.execute("SELECT payload, codec FROM events WHERE episode = 1 AND seq = 601").fetchone()
    for payload, codec in ((b"no zstd", 1), ('{"a":\n1}', 0), (None, 0), (kept[0], 9)):
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA writable_schema=ON")
            db.execute(
                "UPDATE sqlite_master SET sql = replace(sql, 'payload NOT NULL', 'payload') WHERE name = 'events'"
            )
            db.execute("PRAGMA writable_schema=OFF")
        with sqlite3.connect(path) as db:
            db.execute("UPDATE events SET payload = ?, codec = ? WHERE episode = 1 AND seq = 601", (payload, codec))
        with pytest.raises(CorruptLog, match=r"log\.db: event 601 of episode 1 is damaged: .*; it stays at schema 1"):
            LogStore.open(path)
        with sqlite3.connect(path) as db:
            assert db.execute("SELECT value FROM meta").fetchall() == [("1",)]
            assert db.execute("SELECT count(*) FROM events").fetchone() == before
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET payload = ?, codec = ? WHERE episode = 1 AND seq = 601", kept)
    LogStore.open(path).close()
    with LogReader.open(path) as reader:
        assert reader.digest(1) == digest(events(1))


def test_an_event_that_is_missing_in_schema_1_is_missing_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    write_schema_1(path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM events WHERE episode = 1 AND seq = 40")
    LogStore.open(path).close()
    with LogReader.open(path) as reader:
        assert [event.seq for event in reader.events(1)] == [seq for seq in range(EPISODES[1]) if seq != 40]
        assert any("episode 1: event 40 is missing" in line for line in reader.check())
