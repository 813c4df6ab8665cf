"""What episodes, model calls and logs held is freed when they are over, not when Python next looks for cycles."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest
from soak_worker import cells

from emcoop.episode.loop import Table
from emcoop.experiment.study import Study, play
from emcoop.log.store import LogStore
from emcoop.models.base import Turn


def alive(kind: type) -> int:
    return sum(type(thing) is kind for thing in gc.get_objects())


@pytest.mark.parametrize("number", [1, 2], ids=["scripted", "llm"])
def test_episodes_that_are_over_are_gone_without_a_collection(number: int, tmp_path: Path) -> None:
    cell = cells("http://127.0.0.1:1/v1")[number]
    gc.collect()
    before = [alive(kind) for kind in (Table, LogStore, Turn)]
    gc.disable()
    try:
        assert asyncio.run(play(Study(cells=(cell,), seeds=(0, 1, 2)), tmp_path, jobs=2)) == []
        assert [alive(kind) for kind in (Table, LogStore, Turn)] == before
    finally:
        gc.enable()
