"""Day and night."""

from __future__ import annotations

from math import cos, pi

from emcoop.envs.ma_crafter.constants import DAY


def daylight(step: int) -> float:
    """How light it is, 0 (black) to 1 (noon), after this many steps (Crafter's formula; a day has 300 steps)."""
    progress = (step / DAY) % 1 + 0.3
    return 1 - abs(cos(pi * progress)) ** 3
