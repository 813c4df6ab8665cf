"""Terrain does not depend on how its noise was computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.core.compile import COMPILED
from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter import noise


@pytest.mark.skipif(not COMPILED, reason="needs compiled rules, and compiling is switched off")
@given(
    seed=st.integers(0, 2**32),
    size=st.floats(0.3, 20),
    z=st.floats(-10, 10),
    corner=st.tuples(st.integers(-500, 500), st.integers(-500, 500)),
)
@settings(max_examples=60, deadline=None)
def test_noise_point_by_point_is_the_noise_at_once_to_the_last_bit(
    seed: int, size: float, z: float, corner: tuple[int, int]
) -> None:
    order = noise.permutation(Stream(seed))
    y, x = np.mgrid[corner[0] : corner[0] + 12, corner[1] : corner[1] + 9] / size
    whole = noise.at_once(order, x, y, z)
    assert noise.by_point.compiled(order, x, y, z).tobytes() == whole.tobytes()  # type: ignore[attr-defined]
    assert np.ptp(whole) > 0
