"""The collector is calm while episodes are played, and as it was afterwards, whatever happens."""

from __future__ import annotations

import gc

import pytest

from emcoop.core.memory import LEAST, OLDER, PER_EPISODE, fewer_collections


def fail_inside() -> None:
    with fewer_collections():
        assert gc.get_threshold() == (LEAST, *OLDER)
        assert gc.get_freeze_count() > 0
        raise RuntimeError("in the middle")


def test_the_collector_is_calm_inside_and_as_it_was_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_inside()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_a_thousand_episodes_are_looked_through_more_seldom_than_one() -> None:
    with fewer_collections(1000):
        assert gc.get_threshold() == (1000 * PER_EPISODE, *OLDER)
    assert 1000 * PER_EPISODE > LEAST


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
        for _ in range(LEAST * 2):
            Ring()
        assert Ring.alive < LEAST * 2
    gc.collect()
    assert Ring.alive == 0
