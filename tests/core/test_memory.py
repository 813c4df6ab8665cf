"""The collector is calm while episodes are played, and as it was afterwards, whatever happens."""

from __future__ import annotations

import gc

import pytest

from emcoop.core.memory import CALM, fewer_collections


def fail_inside() -> None:
    with fewer_collections():
        assert gc.get_threshold() == CALM
        assert gc.get_freeze_count() > 0
        raise RuntimeError("in the middle")


def test_the_collector_is_calm_inside_and_as_it_was_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_inside()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


class Ring:
    """An object that holds itself."""

    alive = 0

    def __init__(self) -> None:
        self.me = self
        Ring.alive += 1

    def __del__(self) -> None:
        Ring.alive -= 1


def test_circles_are_still_collected_inside() -> None:
    with fewer_collections():
        for _ in range(CALM[0] * 2):
            Ring()
        assert Ring.alive < CALM[0] * 2
    gc.collect()
    assert Ring.alive == 0
