"""Episodes take turns to compute, and what one has asked is on its way before the next one computes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from emcoop.episode.baton import AT_ONCE, Baton, batons
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import Study, play
from emcoop.models.base import Turn

PLAN = '{"task": "none", "actions": [{"action_type": "wait", "num_steps": 5}], "reasoning": ""}'


async def compute(name: str, baton: Baton, said: list[str]) -> None:
    """Compute, begin something, wait for it, and compute again."""

    async def asked() -> None:
        said.append(f"{name} asks")

    async with baton:
        said.append(f"{name} computes")
        task = asyncio.ensure_future(asked())
        baton.pass_on()
        await task
        await baton.take()
        said.append(f"{name} goes on")


def test_what_one_asks_is_on_its_way_before_the_next_one_computes() -> None:
    said: list[str] = []

    async def run() -> None:
        shared = asyncio.Semaphore(1)
        await asyncio.gather(*(compute(name, Baton(shared), said) for name in "abc"))

    asyncio.run(run())
    assert said == [
        "a computes", "a asks", "b computes", "b asks", "c computes", "c asks", "a goes on", "b goes on", "c goes on",
    ]  # fmt: skip


def test_without_anything_shared_nobody_waits() -> None:
    said: list[str] = []

    async def run() -> None:
        await asyncio.gather(*(compute(name, Baton(), said) for name in "ab"))

    asyncio.run(run())
    assert said == ["a computes", "b computes", "a asks", "b asks", "a goes on", "b goes on"]


def test_who_is_cancelled_or_fails_hands_on() -> None:
    async def fail(shared: asyncio.Semaphore) -> None:
        async with Baton(shared):
            raise ValueError("in the middle")

    async def run() -> None:
        shared = batons()
        holders = [Baton(shared) for _ in range(AT_ONCE)]
        for holder in holders:
            await holder.take()
        waiting = asyncio.ensure_future(Baton(shared).take())
        await asyncio.sleep(0)
        waiting.cancel()
        for holder in holders:
            holder.pass_on()
            holder.pass_on()
        for _ in range(3 * AT_ONCE):
            with pytest.raises(ValueError, match="in the middle"):
                await asyncio.wait_for(fail(shared), 5)
        await asyncio.sleep(0)
        for holder in holders:
            await asyncio.wait_for(holder.take(), 5)
        assert shared.locked(), "nobody has handed on twice"

    asyncio.run(run())


async def slow_reader(turns: Sequence[Turn], *_: Any) -> str:
    """Answers at once after a moment, and notes when it was asked."""
    ASKED.append(time.perf_counter())
    await asyncio.sleep(0.2)
    return PLAN


ASKED: list[float] = []
COMPUTED: list[float] = []


def test_an_experiment_asks_while_other_episodes_still_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from emcoop.episode.loop import Table

    opened = Table.play

    async def noted(self: Table, opening: dict[str, Any]) -> Any:
        COMPUTED.append(time.perf_counter())
        return await opened(self, opening)

    monkeypatch.setattr(Table, "play", noted)
    seat = SeatConfig(agent="llm", model=f"scripted:{__name__}:slow_reader")
    cell = Setup(env="cube", level="easy", agents=1, team=(seat,), env_options={"horizon": 5})
    count = 10 * AT_ONCE
    ASKED.clear()
    COMPUTED.clear()
    study = Study(cells=(cell,), seeds=tuple(range(count)))
    assert asyncio.run(play(study, tmp_path / "run", jobs=count, calls=count)) == []
    assert len(ASKED) == len(COMPUTED) == count
    before = sum(begun < ASKED[0] for begun in COMPUTED)
    assert before <= AT_ONCE, "further episodes have begun before the first one's question was on its way"
