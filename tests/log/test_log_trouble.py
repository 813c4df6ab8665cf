"""Logs in trouble: killed writers, full devices, damaged files, other versions, other processes."""

from __future__ import annotations

import errno
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from emcoop.core.errors import CorruptLog, LogError, LogFull, LogLocked, NewerSchema
from emcoop.log.database import SCHEMA, migrate, open_for_writing
from emcoop.log.lock import WriterLock, cannot_write
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.log.writer import EpisodeWriter

WRITE_FOREVER = """
import sys
from pathlib import Path
from emcoop.log.store import LogStore
with LogStore.open(Path(sys.argv[1])) as store:
    writer = store.start(cell="c", seed=0, setup={})
    i = 0
    while True:
        writer.append("note", {"i": i, "blob": writer.blob(f"prompt {i} " * 50)}, cog_time=i, env_step=i)
        if i % 3 == 2:
            writer.flush()
            print(i + 1, flush=True)
        i += 1
"""


def spoil(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the content of the only chunk of a log, which has no dictionary."""
    with sqlite3.connect(path) as db:
        ((before,),) = db.execute("SELECT data FROM chunks WHERE codec = 1").fetchall()
        content = zstandard.ZstdDecompressor().decompress(before)
        changed = change(content)
        assert changed != content
        db.execute("UPDATE chunks SET codec = 0, data = ?", (changed,))


def make(path: Path, n: int = 2_000) -> str:
    with LogStore.open(path) as store:
        writer = store.start(cell="c", seed=0, setup={})
        for i in range(n):
            payload = {"id": i, "to": [], "content": "x" * 50, "price": 0.0}
            writer.append("message_sent", payload, cog_time=i, env_step=i, agent="agent_0")
        writer.finish("finished", {})
        return writer.digest


def append_noise(writer: EpisodeWriter, start: int, end: int) -> None:
    for i in range(start, end):
        writer.append("note", {"i": i, "blob": writer.blob(os.urandom(3_000))}, cog_time=i, env_step=i)
        writer.flush()


def write_noise_until_full(path: Path) -> None:
    with LogStore.open(path) as store:
        append_noise(store.start(cell="c", seed=0, setup={}), 0, 1_000)


def read_all(path: Path) -> list[object]:
    with LogReader.open(path) as reader:
        return [(row, list(reader.events(row.id))) for row in reader.episodes()]


def test_a_killed_writer_loses_at_most_what_was_not_flushed(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    process = subprocess.Popen([sys.executable, "-c", WRITE_FOREVER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    flushed = 0
    while flushed < 300:
        flushed = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    flushed = max([flushed, *(int(line) for line in process.stdout.read().split())])
    process.wait()
    process.stdout.close()
    with LogReader.open(path) as reader:  # before any writer has tidied up
        events = list(reader.events(1))
        assert [event.payload["i"] for event in events] == list(range(len(events)))
        assert len(events) >= flushed
        assert all(reader.blob(e.payload["blob"]).startswith(b"prompt %d " % e.seq) for e in events)
        assert reader.episodes()[0].status == "running"
    with LogStore.open(path) as store:
        assert [row.status for row in store.episodes()] == ["interrupted"]
        store.start(cell="c", seed=0, setup={}).finish("finished", {})
    with LogReader.open(path) as reader:
        assert reader.count(reader.episodes()[0].id) == 0


def test_a_full_device_is_named_and_keeps_what_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    store = LogStore.open(path)
    writer = store.start(cell="c", seed=0, setup={})
    writer.append("note", {"i": 0}, cog_time=0, env_step=0)
    writer.flush()
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(LogFull, match=str(path)):
        append_noise(writer, 1, 50)
    with LogReader.open(path) as reader:
        kept = reader.count(writer.id)
    assert 1 <= kept < 49
    with pytest.raises(LogFull):
        store.close()
    with LogStore.open(path) as again:  # the lock is free and the file is whole
        assert [row.status for row in again.episodes()] == ["interrupted"]
    with LogReader.open(path) as reader:
        assert [e.payload["i"] for e in reader.events(1)] == list(range(kept))


def test_writing_goes_on_where_space_was_freed(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count={pages}")
        writer.append("note", {"blob": writer.blob(os.urandom(50_000))}, cog_time=0, env_step=0)
        for i in range(1, 4):  # tries that fail, with more to write each time
            with pytest.raises(LogFull):
                writer.flush()
            writer.append("note", {"i": i}, cog_time=i, env_step=0, host={"tries": i})
        store._db.execute("PRAGMA max_page_count=100000")
        writer.finish("finished", {})
    with LogReader.open(tmp_path / "log.db") as reader:
        event, *later = reader.events(1)
        assert len(reader.blob(event.payload["blob"])) == 50_000
        assert [event.payload for event in later] == [{"i": 1}, {"i": 2}, {"i": 3}]
        assert list(reader.host(1)) == [(i, {"tries": i}) for i in range(1, 4)]
        assert reader.digest(1) == reader.episodes()[0].digest


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux and root: it mounts")
def test_a_really_full_file_system_is_a_full_log(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount, which root does not have here")
    try:
        with pytest.raises(LogFull, match=r"log\.db"):
            write_noise_until_full(folder / "log.db")
        with LogReader.open(folder / "log.db") as reader:
            assert reader.count(1) > 10
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_no_space_for_the_lock_is_a_full_log(tmp_path: Path) -> None:
    error = cannot_write(tmp_path / "log.db", OSError(errno.ENOSPC, "No space left on device"))
    assert isinstance(error, LogFull)
    assert "log.db" in str(error)


@pytest.mark.parametrize("opener", [LogStore, LogReader])
@pytest.mark.parametrize(
    "content", [b"hello, I am no database\n" * 100, b"\x00" * 8192, b"SQLite format 3\x00" + b"\x07" * 5000]
)
def test_a_file_that_is_no_database_is_a_corrupt_log(tmp_path: Path, opener: type, content: bytes) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(content)
    with pytest.raises(CorruptLog, match=r"log\.db"):
        opener.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("opener", [LogStore, LogReader])
def test_another_database_is_no_log_and_stays_as_it_is(tmp_path: Path, opener: type) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE people(name TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(CorruptLog, match="not an emcoop log"):
        opener.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("opener", [LogStore, LogReader])
def test_a_log_without_one_of_its_tables_says_which(tmp_path: Path, opener: type) -> None:
    make(tmp_path / "log.db", 1)
    db = sqlite3.connect(tmp_path / "log.db")
    db.execute("DROP TABLE packs")
    db.close()
    with pytest.raises(CorruptLog, match="lacks the tables packs"):
        opener.open(tmp_path / "log.db")


def test_a_truncated_log_is_corrupt(tmp_path: Path) -> None:
    make(tmp_path / "log.db")
    size = (tmp_path / "log.db").stat().st_size
    os.truncate(tmp_path / "log.db", size // 2)
    with pytest.raises(CorruptLog), LogReader.open(tmp_path / "log.db") as reader:
        list(reader.events(1))
    with pytest.raises(CorruptLog):
        LogStore.open(tmp_path / "log.db")
    assert not (tmp_path / "log.db.lock").exists()


def test_an_empty_file_is_no_log_to_a_reader_and_a_new_one_to_a_writer(tmp_path: Path) -> None:
    (tmp_path / "log.db").touch()
    with pytest.raises(CorruptLog, match="empty"):
        LogReader.open(tmp_path / "log.db")
    make(tmp_path / "log.db", 1)
    with LogReader.open(tmp_path / "log.db") as reader:
        assert reader.count(1) == 1


def test_damage_is_found_or_changes_nothing_and_is_never_another_error(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "whole.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        for i in range(600):  # noise, which takes room: hardly a byte of the file is unused
            payload = {"id": i, "to": [], "content": os.urandom(40).hex(), "price": 0.0}
            writer.append("message_sent", payload, cog_time=i, env_step=i, agent="agent_0")
            if i % 20 == 19:
                writer.flush()
        writer.finish("finished", {})
    sound = read_all(tmp_path / "whole.db")
    whole = (tmp_path / "whole.db").read_bytes()
    path = tmp_path / "log.db"
    found = 0
    for offset in range(0, len(whole), 701):
        path.write_bytes(whole)
        spoil(path, offset, bytes(255 - b for b in whole[offset : offset + 64]))
        try:
            with LogReader.open(path) as reader:
                problems = reader.check()
            if not problems:
                assert read_all(path) == sound, offset
            found += bool(problems)
        except LogError:
            found += 1
    assert found > 50


def test_a_changed_payload_is_found_by_its_digest(tmp_path: Path) -> None:
    digest = make(tmp_path / "log.db", 10)
    with LogReader.open(tmp_path / "log.db") as reader:
        assert reader.check() == []
    rewrite(tmp_path / "log.db", lambda content: content.replace(b'"content":"x', b'"content":"y', 5))
    with LogReader.open(tmp_path / "log.db") as reader:
        assert reader.digest(1) != digest
        (problem,) = reader.check()
        assert "episode 1" in problem
        assert "digest" in problem


def test_a_changed_blob_is_found_by_its_name(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        name = store.start(cell="c", seed=0, setup={}).blob(b"world " * 40)
    db = sqlite3.connect(tmp_path / "log.db")
    db.execute("UPDATE packs SET codec = 0, data = ?", (b"other",))
    db.commit()
    with LogReader.open(tmp_path / "log.db") as reader:
        with pytest.raises(CorruptLog, match=name):
            reader.blob(name)
        assert any(name in problem for problem in reader.check())
    for codec, data in ((1, b"no zstd"), (9, b"what")):
        db.execute("UPDATE packs SET codec = ?, data = ?", (codec, data))
        db.commit()
        with LogReader.open(tmp_path / "log.db") as reader, pytest.raises(CorruptLog, match=name):
            reader.blob(name)
    db.execute("DELETE FROM packs")
    db.commit()
    with LogReader.open(tmp_path / "log.db") as reader, pytest.raises(CorruptLog, match="pack 1 is not there"):
        reader.blob(name)
    db.close()


@pytest.mark.parametrize("text", [b"{", b"[]", b"\xff\xfe"])
def test_a_payload_that_is_no_mapping_is_a_corrupt_log(tmp_path: Path, text: bytes) -> None:
    make(tmp_path / "log.db", 3)
    rewrite(tmp_path / "log.db", lambda content: content.replace(b'{"content":"' + b"x" * 50, text, 1))
    with pytest.raises(CorruptLog, match=r"log\.db: episode 1, events from 0 on"):
        read_all(tmp_path / "log.db")


def test_a_set_up_that_is_not_json_is_a_corrupt_log(tmp_path: Path) -> None:
    make(tmp_path / "log.db", 3)
    with sqlite3.connect(tmp_path / "log.db") as db:
        db.execute("UPDATE episodes SET setup = '{'")
    with pytest.raises(CorruptLog, match=r"log\.db"):
        read_all(tmp_path / "log.db")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("data = x'00ff', codec = 1", "a compressed content is damaged"),
        ("codec = codec + 7", "needs dictionary 8"),
        ("data = x'fffe0a', codec = 0", "is no text"),
        ("data = 'text'", "row is damaged"),
        ("codec = 'one'", "row is damaged"),
        ("count = count - 1", "is not 9 lines"),
        ("host = 1000000", "1000000 bytes of host facts"),
        ("data = x'5b5d0a', codec = 0, count = 1", "its line holds something else"),
        ("data = CAST('[20,0,0,null,\"a\",{}]' || char(10) AS BLOB), codec = 0, count = 1", "something else"),
    ],
)
def test_a_damaged_chunk_is_named_by_the_reader_and_by_the_check_which_goes_on(
    tmp_path: Path, change: str, said: str
) -> None:
    path = tmp_path / "log.db"
    with LogStore.open(path) as store:
        for seed in range(2):
            writer = store.start(cell="c", seed=seed, setup={})
            for i in range(20):
                writer.append("message_delivered", {"id": i, "from": "a"}, cog_time=i, env_step=i, agent="b")
                if i == 9:
                    writer.flush()
            writer.finish("finished", {})
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE chunks SET {change} WHERE episode = 1 AND first = 10")
        db.execute("UPDATE episodes SET digest = 'another' WHERE id = 2")
    with LogReader.open(path) as reader:
        assert len(reader.page(1, size=10)) == 10, "the other chunk is sound"
        for read in (lambda: list(reader.events(1)), lambda: reader.page(1, start_seq=10, size=1)):
            with pytest.raises(CorruptLog, match=f"episode 1, events from 10 on: .*{said}"):
                read()
        damaged, wrong = reader.check()
        assert re.search(f"episode 1, events from 10 on: .*{said}", damaged)
        assert "episode 2: its events do not give the digest" in wrong


def test_the_check_finds_missing_events_and_misleading_numbers(tmp_path: Path) -> None:
    changes = (
        ("DELETE FROM chunks WHERE first = 3", "episode 1: event 3 is missing"),
        ("UPDATE chunks SET first = 7 WHERE first = 6", "episode 1: event 6 is missing"),
        ("UPDATE chunks SET kinds = 0 WHERE first = 6", "event 8 is not among those that are found by its kind"),
        ("UPDATE chunks SET host = 0 WHERE first = 6", "its content is not 3 lines"),
    )
    for number, (change, said) in enumerate(changes):
        path = tmp_path / f"{number}.db"
        with LogStore.open(path) as store:
            writer = store.start(cell="c", seed=0, setup={})
            for i in range(9):
                payload = {"id": i, "from": "agent_0"}
                writer.append("message_delivered", payload, cog_time=i, env_step=i, agent="agent_1", host={"t": i})
                if i % 3 == 2:
                    writer.flush()
            writer.finish("finished", {})
        with LogReader.open(path) as reader:
            assert reader.check() == []
        with sqlite3.connect(path) as db:
            db.execute(change)
        with LogReader.open(path) as reader:
            assert said in "\n".join(reader.check())


def test_a_second_process_cannot_write_and_reads(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    hold = (
        "import sys; from pathlib import Path; from emcoop.log.store import LogStore\n"
        "with LogStore.open(Path(sys.argv[1])) as s:\n"
        "    s.start(cell='c', seed=0, setup={}); print('ready', flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(LogLocked, match=rf"{path}.*{process.pid}"):
        LogStore.open(path)
    with LogReader.open(path) as reader:
        assert [row.status for row in reader.episodes()] == ["running"]
    process.communicate()
    with LogStore.open(path) as store:
        assert [row.status for row in store.episodes()] == ["interrupted"]


def test_the_same_process_cannot_write_twice(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db"), pytest.raises(LogLocked):
        LogStore.open(tmp_path / "log.db")
    LogStore.open(tmp_path / "log.db").close()


def test_a_lock_file_left_by_a_dead_process_locks_nobody_out(tmp_path: Path) -> None:
    (tmp_path / "log.db.lock").write_text("99999\n")
    WriterLock.acquire(tmp_path / "log.db").release()
    assert not (tmp_path / "log.db.lock").exists()


def test_a_foreign_connection_in_the_middle_of_a_write_is_a_locked_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emcoop.log.database.PATIENCE_MS", 50)
    make(tmp_path / "log.db", 1)
    db = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LogLocked, match=r"log\.db"):
        LogStore.open(tmp_path / "log.db")
    db.close()


@pytest.mark.parametrize("opener", [LogStore, LogReader])
def test_a_newer_schema_says_both_versions(tmp_path: Path, opener: type) -> None:
    make(tmp_path / "log.db", 1)
    db = sqlite3.connect(tmp_path / "log.db")
    db.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(SCHEMA + 41),))
    db.commit()
    db.close()
    with pytest.raises(NewerSchema, match=rf"schema {SCHEMA + 41}.*up to {SCHEMA}"):
        opener.open(tmp_path / "log.db")


def test_migrations_run_in_order_and_a_failed_one_leaves_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path, 2)
    db = open_for_writing(path)

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half(x)")
        raise RuntimeError("power cut")

    steps = {
        2: lambda connection: connection.execute("ALTER TABLE episodes ADD COLUMN note TEXT DEFAULT 'old'") and None,
        3: broken,
    }
    with pytest.raises(RuntimeError):
        migrate(db, path, target=4, steps=steps)
    assert db.execute("SELECT value FROM meta").fetchone() == ("3",)
    assert db.execute("SELECT note FROM episodes").fetchone() == ("old",)
    assert db.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchone() is None
    with pytest.raises(CorruptLog, match="from schema 3 to 4"):
        migrate(db, path, target=4, steps={2: broken})
    db.close()


def test_an_older_schema_without_a_migration_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "log.db", 1)
    db = sqlite3.connect(tmp_path / "log.db")
    db.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
    db.commit()
    db.close()
    with pytest.raises(LogError, match="schema 0"):
        LogReader.open(tmp_path / "log.db")
    with pytest.raises(CorruptLog, match="from schema 0 to 1"):
        LogStore.open(tmp_path / "log.db")


def test_paths_that_hold_no_log_are_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no such log"):
        LogReader.open(tmp_path / "none.db")
    with pytest.raises(LogError, match="a folder"):
        LogReader.open(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(LogError, match=r"cannot be written here"):
        LogStore.open(tmp_path / "file" / "log.db")


def test_a_path_with_special_characters_is_read(tmp_path: Path) -> None:
    path = tmp_path / "50% of? #1 é" / "log.db"
    make(path, 3)
    with LogReader.open(path) as reader:
        assert reader.count(1) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="needs a bind mount or a folder that root cannot write")
def test_a_read_only_folder_reads_and_refuses_to_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    make(folder / "log.db", 3)
    if os.geteuid() != 0:
        folder.chmod(0o500)
        undo = lambda: folder.chmod(0o700)  # noqa: E731
    else:
        if subprocess.run(["mount", "--bind", "-o", "ro", str(folder), str(folder)], capture_output=True).returncode:
            pytest.skip("needs the right to mount, which root does not have here")
        undo = lambda: subprocess.run(["umount", str(folder)], check=True) and None  # noqa: E731
    try:
        with pytest.raises(LogError, match="cannot be written here"):
            LogStore.open(folder / "log.db")
        with LogReader.open(folder / "log.db") as reader:
            assert reader.count(1) == 3
    finally:
        undo()
