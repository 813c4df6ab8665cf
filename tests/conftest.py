"""Fixtures that several areas share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.models.faulty import FaultyServer


@pytest.fixture
def faulty_server() -> Iterator[FaultyServer]:
    """A misbehaving OpenAI-compatible server on loopback; fill its `script`."""
    with FaultyServer() as server:
        yield server
