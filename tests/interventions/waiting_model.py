"""A scripted model that always waits one step, and counts how often it is asked."""

from __future__ import annotations

import json

ASKED: list[int] = []
"""One entry for each call."""


def answer(*request: object) -> str:
    ASKED.append(1)
    return json.dumps({"reasoning": "", "task": "none", "actions": [{"action_type": "wait", "num_steps": 1}]})
