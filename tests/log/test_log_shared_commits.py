"""Episodes that end together share a commit, and each goes on only when it is committed."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from emcoop.core.errors import LogError, LogFull
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore


def finished(path: Path) -> int:
    """How many episodes another process finds finished."""
    with LogReader.open(path) as reader:
        return sum(row.status == "finished" for row in reader.episodes())


def test_episodes_that_end_together_are_committed_together_before_any_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    found: list[int] = []

    async def go(store: LogStore) -> None:
        writers = [store.start(cell="c", seed=seed, setup={}) for seed in range(5)]

        async def end(seed: int) -> None:
            writers[seed].append("note", {"seed": seed}, cog_time=0, env_step=0)
            await writers[seed].finish_soon("finished", {"seed": seed})
            found.append(finished(path))

        await asyncio.gather(*(end(seed) for seed in range(4)))
        await end(4)

    with LogStore.open(path) as store:
        asyncio.run(go(store))
    assert found == [4, 4, 4, 4, 5]
    with LogReader.open(path) as reader:
        assert [row.outcome for row in reader.episodes()] == [{"seed": seed} for seed in range(5)]
        assert all(row.digest == reader.digest(row.id) for row in reader.episodes())


def test_an_episode_that_is_cancelled_while_it_waits_for_its_commit_is_finished_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def go(store: LogStore) -> None:
        writer, _ = (store.start(cell="c", seed=seed, setup={}) for seed in range(2))
        ending = asyncio.create_task(writer.finish_soon("finished", {}))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending

    with LogStore.open(path) as store:
        asyncio.run(go(store))
    with LogReader.open(path) as reader:
        assert [row.status for row in reader.episodes()] == ["finished", "interrupted"]


def test_an_episode_whose_end_waits_for_its_commit_is_not_begun_over(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def go(store: LogStore) -> None:
        store.start(cell="c", seed=9, setup={})
        for seed, status in enumerate(("finished", "failed")):
            ending = asyncio.create_task(store.start(cell="c", seed=seed, setup={}).finish_soon(status, {}))
            await asyncio.sleep(0)
            if status == "finished":
                with pytest.raises(LogError, match="is finished already"):
                    store.start(cell="c", seed=seed, setup={})
            else:
                again = store.start(cell="c", seed=seed, setup={})
                again.append("note", {}, cog_time=0, env_step=0)
                again.finish("finished", {})
            await ending

    with LogStore.open(path) as store:
        asyncio.run(go(store))
    with LogReader.open(path) as reader:
        assert [(row.seed, row.status.value) for row in reader.episodes()] == [
            (9, "interrupted"),
            (0, "finished"),
            (1, "finished"),
        ]
        assert all(row.digest == reader.digest(row.id) for row in reader.episodes()[1:])
    assert sqlite3.connect(path).execute("SELECT sum(count) FROM chunks").fetchone() == (1,)


def test_everybody_who_waits_hears_that_the_log_is_full_and_may_try_again(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def go(store: LogStore) -> list[object]:
        writers = [store.start(cell="c", seed=seed, setup={}) for seed in range(3)]
        writers[0].blob(bytes(range(256)) * 4000)
        writers[0].append("note", {"text": "".join(map(chr, range(40, 60_000)))}, cog_time=0, env_step=0)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count={pages}")
        endings = (writer.finish_soon("finished", {}) for writer in writers)
        failures = list(await asyncio.gather(*endings, return_exceptions=True))
        store._db.execute("PRAGMA max_page_count=1000000")
        for writer in writers:
            writer.finish("finished", {})
        with pytest.raises(LogError, match="ended already"):
            await writers[0].finish_soon("finished", {})
        return failures

    with LogStore.open(path) as store:
        assert [type(failure) for failure in asyncio.run(go(store))] == [LogFull] * 3
    assert finished(path) == 3
    assert sqlite3.connect(path).execute("SELECT sum(count) FROM chunks").fetchone() == (1,)


def test_an_episode_that_begins_beside_others_is_in_the_log_from_their_next_commit_on(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    def seen() -> list[tuple[int, str]]:
        with LogReader.open(path) as reader:
            return [(row.seed, row.status.value) for row in reader.episodes()]

    with LogStore.open(path) as store:
        first = store.start(cell="c", seed=0, setup={})
        assert seen() == [(0, "running")]
        second = store.start(cell="c", seed=1, setup={})
        second.append("note", {}, cog_time=0, env_step=0)
        assert seen() == [(0, "running")]
        first.finish("finished", {})
        assert seen() == [(0, "finished"), (1, "running")]
        third = store.start(cell="c", seed=2, setup={})
        third.finish("finished", {})
        assert third.id not in (first.id, second.id)
    assert seen() == [(0, "finished"), (1, "interrupted"), (2, "finished")]
