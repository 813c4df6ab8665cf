"""What happened in a step, as the log keeps it: agents see none of this."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from emcoop.core.types import AgentId, Json
from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    COLLECTED,
    CRAFTED_IT,
    DEATHS,
    FIRST_FAILURE,
    PLACED_IT,
    RESULTS,
    SHARED,
)
from emcoop.envs.ma_crafter.state import CrafterState

_TOLD = (COLLECTED, CRAFTED_IT, PLACED_IT, SHARED)


def events(before: CrafterState, after: CrafterState, agents: tuple[AgentId, ...]) -> tuple[Mapping[str, Json], ...]:
    """First achievements and deaths, then what each agent's primitive did or why it had no effect; by agent."""
    found: list[Mapping[str, Json]] = []
    first = (before.achievements == 0) & (after.achievements > 0)
    if first.any():
        found += [
            {"kind": "achieved", "agent": agents[i], "achievement": ACHIEVEMENTS[k]} for i, k in np.argwhere(first)
        ]
    died = np.flatnonzero(after.agents[:, DEATHS] > before.agents[:, DEATHS])
    found += [{"kind": "died", "agent": agents[i]} for i in died]
    for agent, (code, have, _, target) in zip(agents, after.result.tolist(), strict=True):
        if code >= FIRST_FAILURE:
            found.append({"kind": "blocked", "agent": agent, "code": RESULTS[code]})
        elif code in _TOLD:
            found.append({"kind": RESULTS[code], "agent": agent, "have": have, "target": target})
    return tuple(found)
