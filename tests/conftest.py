"""Fixtures that several areas share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.models.faulty import FaultyServer

settings.register_profile("emcoop", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("emcoop")  # a busy machine fails no property, and what passes here passes everywhere


@pytest.fixture
def faulty_server() -> Iterator[FaultyServer]:
    """A misbehaving OpenAI-compatible server on loopback; fill its `script`."""
    with FaultyServer() as server:
        yield server
