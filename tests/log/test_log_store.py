"""Writing, resuming and digests of the log."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from io import StringIO
from pathlib import Path

import pytest

from emcoop.core.errors import CorruptLog, LogError
from emcoop.log.chunks import FLUSH_EVENTS, ChunkBuffer
from emcoop.log.export import export_jsonl
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.log.writer import EpisodeWriter


def write(writer: EpisodeWriter, numbers: range, label: str, host: dict[str, str] | None = None) -> None:
    for i in numbers:
        payload, agent = {"i": i, "label": label}, f"agent_{i % 3}"
        writer.append("note", payload, cog_time=i * 7, env_step=i // 2, agent=agent, host=host)


def alone(path: Path, label: str, n: int) -> str:
    with LogStore.open(path) as store:
        writer = store.start(cell=label, seed=0, setup={})
        write(writer, range(n), label)
        writer.finish("finished", {})
        return writer.digest


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log.db"
    with LogStore.open(path) as store:
        writer = store.start(cell="c", seed=4, setup={"env": "cube"})
        assert writer.append("stage", {"to": "R", "from": None}, cog_time=0, env_step=0, agent="agent_0") == 0
        assert writer.append("step", {"state": writer.blob(b"\x00world")}, cog_time=100, env_step=1) == 1
        writer.finish("finished", {"limit": "success"})
    with LogReader.open(path) as reader:
        (row,) = reader.episodes()
        assert (row.cell, row.seed, row.status, row.setup) == ("c", 4, "finished", {"env": "cube"})
        assert row.outcome == {"limit": "success"}
        first, second = reader.events(row.id)
        assert (first.seq, first.cog_time, first.env_step, first.agent, first.kind) == (0, 0, 0, "agent_0", "stage")
        assert first.payload == {"from": None, "to": "R"}
        assert (second.seq, second.agent) == (1, None)
        assert reader.blob(second.payload["state"]) == b"\x00world"
        assert [e.seq for e in reader.events(row.id, kinds=("step",))] == [1]
        assert (reader.count(row.id), reader.count(row.id, ("stage",)), reader.count(row.id, ("other",))) == (2, 1, 0)


def test_the_digest_is_the_sha256_of_the_canonical_lines(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        writer.append("a", {"z": 1, "b": "é"}, cog_time=5, env_step=0, agent="agent_1")
        writer.append("two words", {}, cog_time=6, env_step=1, agent='ä"')
        lines = '[0,5,0,"agent_1","a",{"b":"é","z":1}]\n[1,6,1,"ä\\"","two words",{}]\n'
        assert writer.digest == hashlib.sha256(lines.encode()).hexdigest()


def test_interleaved_episodes_have_the_digests_they_have_alone(tmp_path: Path) -> None:
    expected = {label: alone(tmp_path / f"{label}.db", label, 60) for label in "abcd"}
    with LogStore.open(tmp_path / "log.db") as store:
        writers = {label: store.start(cell=label, seed=0, setup={}) for label in "abcd"}
        for start in range(0, 60, 5):
            for label, writer in sorted(writers.items(), reverse=bool(start % 2)):
                write(writer, range(start, start + 5), label)
                if label == "b":
                    writer.flush()
        for writer in writers.values():
            writer.finish("finished", {})
    with LogReader.open(tmp_path / "log.db") as reader:
        assert {row.cell: row.digest for row in reader.episodes()} == expected
        assert {row.cell: reader.digest(row.id) for row in reader.episodes()} == expected


def test_host_facts_and_blobs_do_not_change_the_digest(tmp_path: Path) -> None:
    digests = []
    for measured, extra in ((0.5, b""), (0.7, b"x" * 500)):
        with LogStore.open(tmp_path / f"{measured}.db") as store:
            writer = store.start(cell="c", seed=0, setup={})
            writer.blob(extra)
            writer.append("decision", {"calls": 1}, cog_time=0, env_step=0, host={"measured_s": measured})
            writer.finish("finished", {})
        with LogReader.open(tmp_path / f"{measured}.db") as reader:
            assert list(reader.host(1)) == [(0, {"measured_s": measured})]
            digests.append(reader.digest(1))
    assert digests[0] == digests[1]


def test_an_unfinished_episode_is_replaced_when_started_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with LogStore.open(path) as store:
        writer = store.start(cell="c", seed=1, setup={})
        write(writer, range(10), "cut off")
        writer.append("last", {}, cog_time=0, env_step=0, host={"t": 1})
    with LogReader.open(path) as reader:
        (row,) = reader.episodes()
        assert (row.status, row.digest, reader.count(row.id)) == ("interrupted", None, 11)
    with LogStore.open(path) as store:
        writer = store.start(cell="c", seed=1, setup={})
        write(writer, range(3), "anew")
        writer.finish("finished", {})
    with LogReader.open(path) as reader:
        (row,) = reader.episodes()
        assert [event.payload["label"] for event in reader.events(row.id)] == ["anew"] * 3
        assert list(reader.host(row.id)) == []
        assert row.digest == reader.digest(row.id)


def test_a_failed_episode_keeps_its_error_and_can_be_played_again(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        store.start(cell="c", seed=1, setup={}).finish("failed", {"error": "Stall: agent_0"})
        (row,) = store.episodes()
        assert (row.status, row.outcome) == ("failed", {"error": "Stall: agent_0"})
        store.start(cell="c", seed=1, setup={}).finish("finished", {})
        assert [row.status for row in store.episodes()] == ["finished"]


def test_finished_or_running_episodes_cannot_be_started_again(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=1, setup={})
        with pytest.raises(LogError, match="being written"):
            store.start(cell="c", seed=1, setup={})
        writer.finish("finished", {})
        with pytest.raises(LogError, match="finished already"):
            store.start(cell="c", seed=1, setup={})
        with pytest.raises(LogError, match="nothing can be appended"):
            writer.append("a", {}, cog_time=0, env_step=0)
        with pytest.raises(LogError, match="ended already"):
            writer.finish("finished", {})


def test_nothing_is_appended_to_a_closed_log(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=1, setup={})
    with pytest.raises(LogError, match="has ended"):
        writer.append("a", {}, cog_time=0, env_step=0)
    with pytest.raises(LogError, match="has ended"):
        writer.finish("finished", {})
    with pytest.raises(LogError, match=r"log\.db"):
        store.start(cell="d", seed=1, setup={})
    store.close()


def test_a_payload_is_copied_when_it_is_appended(tmp_path: Path) -> None:
    payload = {"list": [1]}
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        writer.append("a", payload, cog_time=0, env_step=0)
        payload["list"].append(2)
        writer.finish("finished", {})
    with LogReader.open(tmp_path / "log.db") as reader:
        assert next(reader.events(1)).payload == {"list": [1]}


def test_a_refused_payload_leaves_no_gap(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        with pytest.raises(ValueError):
            writer.append("a", {"x": float("nan")}, cog_time=0, env_step=0)
        with pytest.raises(TypeError):
            writer.append("a", {"x": object()}, cog_time=0, env_step=0)
        assert writer.append("a", {}, cog_time=0, env_step=0) == 0


def test_a_long_silence_of_flush_does_not_hold_everything_in_memory(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        write(writer, range(FLUSH_EVENTS + 1), "x")
        with LogReader.open(tmp_path / "log.db") as reader:
            assert reader.count(writer.id) == FLUSH_EVENTS


def test_steps_in_quick_succession_share_a_commit_and_a_later_one_brings_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    with LogStore.open(path) as store:
        writer = store.start(cell="c", seed=0, setup={})
        seen = []
        for since in (1e9, 1e9, 0.0):
            monkeypatch.setattr("emcoop.log.store.COMMIT_S", since)
            writer.append("x", {}, cog_time=0, env_step=0)
            writer.checkpoint()
            with LogReader.open(path) as reader:
                seen.append(reader.count(writer.id))
    assert seen == [0, 0, 3]


def test_a_reader_sees_what_was_flushed_while_the_writer_goes_on(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        with LogReader.open(tmp_path / "log.db") as reader:
            write(writer, range(4), "x")
            assert reader.count(writer.id) == 0
            writer.flush()
            assert reader.count(writer.id) == 4
            assert reader.episodes()[0].status == "running"


@pytest.mark.parametrize("content", [b"", b"x", b"\x00\xff" * 40, b"the same again " * 400, bytes(range(256)) * 3])
def test_blobs_are_kept_once_and_read_back_as_they_were(tmp_path: Path, content: bytes) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        assert writer.blob(content) == writer.blob(content) == hashlib.sha256(content).hexdigest()
    with LogStore.open(tmp_path / "log.db") as store:
        store.start(cell="d", seed=0, setup={}).blob(content)
    with LogReader.open(tmp_path / "log.db") as reader:
        assert reader.blob(hashlib.sha256(content).hexdigest()) == content
    db = sqlite3.connect(tmp_path / "log.db")
    assert db.execute("SELECT count(*) FROM packs").fetchone() == (1,)
    db.close()


def test_an_interrupt_between_commit_and_return_writes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(buffer: ChunkBuffer) -> None:
        raise KeyboardInterrupt

    clear = ChunkBuffer.clear
    expected = alone(tmp_path / "alone.db", "c", 12)
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        for start, stop_at in ((0, 3), (3, 8), (8, 11)):
            write(writer, range(start, stop_at), "c")
            monkeypatch.setattr(ChunkBuffer, "clear", stop)
            with pytest.raises(KeyboardInterrupt):
                writer.flush()
            monkeypatch.setattr(ChunkBuffer, "clear", clear)
        name = writer.blob(b"x")
        write(writer, range(11, 12), "c", host={"blob": name})
        writer.finish("finished", {})
    with LogReader.open(tmp_path / "log.db") as reader:
        assert [event.payload["i"] for event in reader.events(1)] == list(range(12))
        assert list(reader.host(1)) == [(11, {"blob": name})]
        assert reader.blob(name) == b"x"
        assert reader.digest(1) == reader.episode(1).digest == expected
    with sqlite3.connect(tmp_path / "log.db") as db:
        assert db.execute("SELECT first, count FROM chunks").fetchall() == [(0, 3), (3, 5), (8, 3), (11, 1)]


def test_text_with_a_lone_surrogate_is_kept_visible(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        name = writer.blob("a\ud800")
        writer.append("a", {"content": "a\ud800"}, cog_time=0, env_step=0)
        writer.finish("finished", {})
    with LogReader.open(tmp_path / "log.db") as reader:
        assert reader.blob(name) == b"a\\ud800"
        assert next(reader.events(1)).payload == {"content": "a\ud800"}
        assert reader.digest(1) == reader.episodes()[0].digest


def test_blobs_that_the_store_has_forgotten_are_still_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emcoop.log.blobs.REMEMBERED_BLOBS", 2)
    texts = [f"content {i}" for i in range(10)]
    path = tmp_path / "log.db"
    with LogStore.open(path) as store:
        writer = store.start(cell="c", seed=0, setup={})
        for _ in range(3):
            names = [writer.blob(text) for text in texts]
            writer.flush()
        assert store._blobs.remembered <= 4
        writer.finish("finished", {})
    with LogReader.open(path) as reader:
        assert reader.check() == []
        assert [reader.blob(name).decode() for name in names] == texts
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*), count(DISTINCT pack) FROM blobs").fetchone() == (10, 1)
        assert db.execute("SELECT count(*) FROM packs").fetchone() == (1,)


def test_finished_episodes_are_known_by_cell_and_seed_and_others_are_not(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        store.start(cell="c", seed=1, setup={}).finish("finished", {})
        store.start(cell="d", seed=1, setup={}).finish("finished", {})
        store.start(cell="c", seed=2, setup={}).finish("failed", {"error": "Stall: agent_0"})
        store.start(cell="c", seed=3, setup={})
        assert store.finished() == {("c", 1), ("d", 1)}


def test_unknown_episodes_and_blobs_are_named(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db"):
        pass
    with LogReader.open(tmp_path / "log.db") as reader:
        with pytest.raises(LogError, match="no episode 7"):
            reader.episode(7)
        with pytest.raises(LogError, match="does not keep the blob"):
            reader.blob("00" * 32)
        with pytest.raises(LogError, match="not the name of a blob"):
            reader.blob("oops")


def test_numbers_beyond_64_bits_are_refused_by_name(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store, pytest.raises(LogError, match="64 bits"):
        store.start(cell="c", seed=2**70, setup={})


def test_a_closed_log_is_one_file(tmp_path: Path) -> None:
    alone(tmp_path / "log.db", "c", 5)
    with LogReader.open(tmp_path / "log.db") as reader:
        assert reader.count(1) == 5
    assert [p.name for p in tmp_path.iterdir()] == ["log.db"]


@pytest.mark.parametrize("page", [1, 7, 20, 21, 1000])
def test_pages_of_any_size_give_the_same_events(tmp_path: Path, page: int) -> None:
    alone(tmp_path / "log.db", "c", 20)
    with LogReader.open(tmp_path / "log.db") as reader:
        assert [e.seq for e in reader.events(1, page=page)] == list(range(20))
        assert [e.seq for e in reader.events(1, start_seq=13, page=page)] == list(range(13, 20))
        assert [e.seq for e in reader.page(1, start_seq=5, size=3)] == [5, 6, 7]


def play(store: LogStore, seed: int, n: int) -> dict[int, bytes]:
    """An episode with enough content that dictionaries are trained; its blobs by event."""
    writer = store.start(cell="long", seed=seed, setup={})
    contents = {}
    for i in range(n):
        sentence = f"seed {seed}, step {i}: agent_{i % 3} stands at {i * 7 % 20}, {i * 3 % 20}, behind block {i % 6}; "
        contents[i] = sentence.encode() * 3
        payload = {
            "blob": writer.blob(contents[i]),
            "labels": {f"agent_{k}": f"push(block_id={i % 5})" for k in range(6)},
        }
        writer.append("note", payload, cog_time=i, env_step=i)
        if i % 50 == 49:
            writer.flush()
    writer.finish("finished", {})
    return contents


def test_contents_read_back_through_every_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with LogStore.open(path) as store:
        expected = {1: play(store, 0, 1_500)}
    with LogStore.open(path) as store:
        expected[2] = play(store, 1, 200)
    with LogReader.open(path) as reader:
        for episode, contents in expected.items():
            events = list(reader.events(episode))
            assert [reader.blob(e.payload["blob"]) for e in events] == list(contents.values())
            assert reader.digest(episode) == reader.episode(episode).digest
    db = sqlite3.connect(path)
    purposes = [row[0] for row in db.execute("SELECT purpose FROM dictionaries")]
    assert sorted(purposes) == ["blob", "chunk"]
    for table in ("packs", "chunks"):
        codecs = {row[0] for row in db.execute(f"SELECT DISTINCT codec FROM {table}")}
        assert len(codecs) == 2, "contents before and after the training"
    (stored,), (size,) = db.execute("SELECT sum(length(data)) FROM packs UNION ALL SELECT sum(size) FROM blobs")
    assert stored < 0.5 * size
    db.execute("DELETE FROM dictionaries")
    db.commit()
    db.close()
    with LogReader.open(path) as reader:
        with pytest.raises(CorruptLog, match="needs dictionary"):
            list(reader.events(2))
        assert any("needs dictionary" in line for line in reader.check())


def test_a_reader_that_stays_open_outlives_its_writer(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        write(writer, range(30), "x")
        writer.flush()
        reader = LogReader.open(tmp_path / "log.db")
        pages = reader.events(writer.id, page=10)
        assert next(pages).seq == 0
    with LogStore.open(tmp_path / "log.db") as store:
        write(store.start(cell="d", seed=0, setup={}), range(5), "y")
    with reader:
        assert [event.seq for event in pages] == list(range(1, 30))
        assert [row.cell for row in reader.episodes()] == ["c", "d"]


def test_an_export_inlines_the_blobs_that_events_name(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        for seed in range(2):
            writer = store.start(cell="c", seed=seed, setup={})
            prompt = [{"role": "user", "content": writer.blob("Où?")}]
            writer.append("model_call", {"prompt": prompt, "answer": None}, cog_time=0, env_step=0, agent="agent_0")
            writer.append("step", {"snapshot": writer.blob(b"\xff\x00")}, cog_time=1, env_step=1)
            writer.finish("finished", {})
    out = StringIO()
    with LogReader.open(tmp_path / "log.db") as reader:
        assert export_jsonl(reader, out, [2], inline_blobs=True) == 3
    head, call, step = map(json.loads, out.getvalue().splitlines())
    assert head["seed"] == 1
    assert list(call["blobs"].values()) == ["Où?"]
    assert step["blobs"] == {step["payload"]["snapshot"]: {"base64": "/wA="}}


def test_exported_lines_rebuild_the_digest(tmp_path: Path) -> None:
    digest = alone(tmp_path / "log.db", "c", 30)
    out = StringIO()
    with LogReader.open(tmp_path / "log.db") as reader:
        assert export_jsonl(reader, out) == 31
    head, *events = map(json.loads, out.getvalue().splitlines())
    assert (head["type"], head["digest"], head["cell"]) == ("episode", digest, "c")
    fields = ("seq", "cog_time", "env_step", "agent", "kind", "payload")
    lines = [json.dumps([e[f] for f in fields], separators=(",", ":"), sort_keys=True) + "\n" for e in events]
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == digest
