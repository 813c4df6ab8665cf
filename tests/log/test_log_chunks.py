"""Events in chunks: how they are parted, found again by number, time and kind, and how little of them is held."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard
from log_samples import SAMPLES

from emcoop.core.seeds import Stream
from emcoop.log.chunks import CHUNK_BYTES, CHUNK_EVENTS
from emcoop.log.events import CATALOGUE, Event
from emcoop.log.lines import kind_bits, line_of_kinds
from emcoop.log.packing import BLOBS, CHUNKS, Packer
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.viewer.places import at_step, at_time

ODD = 'said, "x"|(\\d+)\u2028é'
"""A kind that needs care in JSON and in patterns."""


def fill(path: Path, n: int, every: int) -> list[Event]:
    """An episode of n events, a commit after every so many, and one beside it; the events of the first."""
    kinds = Stream(n)
    with LogStore.open(path) as store:
        first, second = (store.start(cell="c", seed=seed, setup={}) for seed in range(2))
        expected = []
        for i in range(n):
            kind = kinds.choice(["stage", "step", "note", ODD]) if i != n // 2 else "rare"
            agent = None if kind == "step" else 'agent_"stage",'
            payload = {"kind": f'[1,2,3,null,"rare",{{}}] {i}', "list": [i, "step", {"stage": "step"}]}
            host = {"latency_s": i / 4} if kind == "note" else None
            assert first.append(kind, payload, cog_time=i * 5, env_step=i // 4, agent=agent, host=host) == i
            expected.append(Event(i, i * 5, i // 4, agent, kind, payload))
            if i % 7 == 0:
                second.append("rare", {}, cog_time=i, env_step=0)
            if i % every == every - 1:
                first.flush()
        first.finish("finished", {})
        second.finish("finished", {})
    return expected


@pytest.mark.parametrize(("n", "every"), [(1, 1), (40, 1), (600, 13), (CHUNK_EVENTS * 3 + 5, 10**9), (512, 256)])
def test_events_are_found_by_number_kind_time_and_step_however_they_were_committed(
    tmp_path: Path, n: int, every: int
) -> None:
    expected = fill(tmp_path / "log.db", n, every)
    with LogReader.open(tmp_path / "log.db") as reader:
        assert list(reader.events(1)) == expected
        assert reader.last(1) == expected[-1]
        assert reader.count(1) == n
        assert list(reader.host(1)) == [(e.seq, {"latency_s": e.seq / 4}) for e in expected if e.kind == "note"]
        for start in {0, n // 3, n // 2, n - 1, n, n + 300}:
            assert reader.page(1, start_seq=start, size=9) == expected[start : start + 9]
            for kinds in (("rare",), ("step", ODD), ("nobody",)):
                found = [event for event in expected[start:] if event.kind in kinds]
                assert list(reader.events(1, kinds, start)) == found
                assert reader.page(1, kinds, start, 5) == found[:5]
            facts = [seq for seq, _ in reader.host(1, start)]
            assert facts == [event.seq for event in expected[start:] if event.kind == "note"]
        for kinds in (("rare",), ("step", ODD), ("nobody",)):
            assert reader.count(1, kinds) == sum(event.kind in kinds for event in expected)
        for step in (0, n // 8, n):
            reached = [event.seq for event in expected if event.env_step >= step] or [n - 1]
            assert at_step(reader, 1, step) == reached[0]
            assert at_time(reader, 1, step * 20) == reached[0]
        assert reader.digest(1) == reader.episode(1).digest


def test_a_chunk_is_bounded_and_the_digest_is_that_of_the_chunks_in_order(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with LogStore.open(path) as store:
        writer = store.start(cell="c", seed=0, setup={})
        for i in range(700):
            text = "long " * (30_000 if i in (300, 301) else 1)
            writer.append("note", {"text": text, "i": i}, cog_time=i, env_step=0, host={"i": i})
        before = writer.digest
        writer.append("note", {}, cog_time=700, env_step=0)
        assert writer.digest != before
        writer.finish("finished", {})
    sizes, hashed = [], hashlib.sha256()
    with sqlite3.connect(path) as db:
        dictionaries = dict(db.execute("SELECT id, data FROM dictionaries"))
        rows = db.execute("SELECT first, count, host, codec, data FROM chunks ORDER BY first").fetchall()
    plain = zstandard.ZstdDecompressor()
    for first, count, host, codec, data in rows:
        unpack = plain
        if codec > 1:
            unpack = zstandard.ZstdDecompressor(zstandard.ZstdCompressionDict(plain.decompress(dictionaries[codec])))
        content = unpack.decompress(data) if codec else data
        lines, facts = content[: len(content) - host], content[len(content) - host :]
        assert lines.count(b"\n") == count <= CHUNK_EVENTS
        assert len(lines) <= CHUNK_BYTES or count == 1
        assert facts == b"".join(b'[%d,{"i":%d}]\n' % (i, i) for i in range(first, first + count) if i < 700)
        sizes.append(count)
        hashed.update(lines)
    assert sizes == [256, 44, 1, 1, 256, 142, 1]
    with LogReader.open(path) as reader:
        assert hashed.hexdigest() == reader.episode(1).digest == reader.digest(1)
        assert [event.payload.get("i") for event in reader.events(1)] == [*range(700), None]


def test_episodes_of_one_commit_have_a_chunk_each(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        writers = [store.start(cell="c", seed=seed, setup={}) for seed in range(5)]
        for i in range(20):
            for writer in writers[: 1 + i % 4]:
                writer.append("note", {"i": i}, cog_time=i, env_step=0)
        store.flush()
        with sqlite3.connect(tmp_path / "log.db") as db:
            found = db.execute("SELECT episode, first, count FROM chunks ORDER BY episode").fetchall()
    assert found == [(1, 0, 20), (2, 0, 15), (3, 0, 10), (4, 0, 5)]


def test_a_reader_decompresses_few_chunks_for_a_page_and_only_those_that_may_have_the_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "log.db", 2_000, 20)
    with LogReader.open(tmp_path / "log.db") as reader:
        opened: list[Any] = []
        unpack = reader._unpacker.unpack
        monkeypatch.setattr(reader._unpacker, "unpack", lambda *row: opened.append(row) or unpack(*row))
        for read, few in (
            (lambda: reader.page(1, start_seq=990, size=40), 3),
            (lambda: reader.page(1, ("rare",)), 1),
            (lambda: reader.count(1), 0),
            (lambda: reader.last(1), 1),
        ):
            opened.clear()
            assert read()
            assert len(opened) <= few


def test_each_kind_of_the_catalogue_has_a_bit_of_its_own() -> None:
    assert len({kind_bits((kind,)) for kind in CATALOGUE}) == len(CATALOGUE)
    assert kind_bits(CATALOGUE) == sum(kind_bits((kind,)) for kind in CATALOGUE)
    assert all(0 < kind_bits((kind,)) < 2**62 for kind in [*SAMPLES, ODD, "a\ud800", ""])


def test_a_kind_is_looked_for_at_its_place_only() -> None:
    wanted = line_of_kinds(("step", ODD))
    assert wanted.match('[0,-1,2,"a\\"b,null","step",{}]')
    assert wanted.match('[0,1,2,null,"said, \\"x\\"|(\\\\d+)\u2028é",{}]')
    assert not wanted.match('[0,1,2,"step","stage",{}]')
    assert not wanted.match('[0,1,2,null,"steps",{}]')
    assert not wanted.match('[0,1,2,null,"stage",{"a":[1,2,3,null,"step",{}]}]')


@pytest.mark.parametrize(("recipe", "early"), [(CHUNKS, True), (BLOBS, False)])
def test_dictionaries_are_made_of_all_that_came_or_of_the_latest(recipe: Any, early: bool) -> None:
    kept: list[bytes] = []

    def keep(dictionary: bytes) -> int:
        kept.append(dictionary)
        return len(kept) + 1

    packer = Packer(recipe, keep, None)
    stream, seen = Stream(0), 0
    while len(kept) < 3:  # trained after 128 KB, 512 KB and 2 MB
        word = b"early" if seen < 3 << 19 else b"later"
        content = b" ".join(word + b"%d" % int(stream.uniform() * 50) for _ in range(60))
        packer.learn(content)
        seen += len(content)
    assert b"later" in kept[2]
    assert (b"early" in kept[2]) is early
