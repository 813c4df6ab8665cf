"""Events of every kind, well-formed by the catalogue, for the tests of the log."""

from __future__ import annotations

from typing import Any

USAGE = {"input_tokens": 900, "output_tokens": 40, "cached_tokens": 0, "calls": 1, "cost_usd": None}
FAILURE = {
    "phase": "EXECUTION",
    "category": "CAPABILITY",
    "code": "insufficient_force",
    "message": "The block needs 2 agents, 1 pushed.",
    "detail": {"need": 2, "have": 1},
}
PLAN = {"task": "block_1", "actions": [{"action_type": "push", "block_id": 1}], "reasoning": "it is near"}
HASH = "ab" * 32
TASK = {
    "required": 2,
    "spatial": ["agent_0"],
    "temporal": [],
    "dependency": ["agent_0"],
    "participation": [],
    "attempting": ["agent_0"],
}

SAMPLES: dict[str, dict[str, Any]] = {
    "episode_start": {
        "emcoop": "0.1.0",
        "setup": {"env": "cube"},
        "env": {"name": "cube"},
        "topology": {"name": "debate"},
        "team": [{"agent": "agent_0"}, {"agent": "agent_1"}],
        "seed": 3,
        "latency": {"kind": "tokens"},
        "limits": {},
        "warnings": [],
        "impossible": None,
        "state": HASH,
        "snapshot": HASH,
    },
    "stage": {"from": None, "to": "R"},
    "decision": {
        "faculty": "plan",
        "view": HASH,
        "usage": USAGE,
        "latency_us": 1_200_000,
        "fallback": None,
        "failures": [FAILURE],
        "calls": 1,
    },
    "model_call": {
        "faculty": "plan",
        "schema": "plan",
        "model": "small",
        "prompt": [{"role": "system", "content": HASH}],
        "answer": HASH,
        "finish_reason": "stop",
        "usage": USAGE,
        "error": None,
    },
    "message_sent": {"id": 1, "to": ["agent_1"], "content": "push left", "price": 0.0},
    "message_delivered": {"id": 1, "from": "agent_0"},
    "message_read": {"ids": [1]},
    "message_lost": {"id": 2, "to": "agent_1"},
    "message_refused": {"id": None, "reason": "send_budget", "to": ["agent_1"], "content": "once more"},
    "plan_committed": {"plan_id": 1, "origin": "new", "plan": PLAN},
    "plan_rejected": {"plan": PLAN, "failure": FAILURE},
    "plan_interrupted": {"plan_id": 1, "messages": [1]},
    "plan_resumed": {"plan_id": 1},
    "plan_ended": {"plan_id": 1, "outcome": "failed", "failure": FAILURE, "executed": 4},
    "fallback": {"faculty": "plan", "to": "wait", "why": "no plan passed"},
    "action": {"plan_id": 1, "index": 0, "action": "push(block_id=1)", "status": "start", "failure": None},
    "step": {
        "actions": {"agent_0": 3, "agent_1": 0},
        "labels": {"agent_0": "push(block_id=1)", "agent_1": "wait(steps=1)"},
        "rewards": {"agent_0": 0.0, "agent_1": 0.5},
        "state": HASH,
        "snapshot": HASH,
        "events": [{"type": "blocked", "agent": "agent_0"}],
        "tasks": {"block_1": TASK},
        "named": {"agent_0": "block_1", "agent_1": "none"},
        "gains": {"agent_0": ["wood_pickaxe"]},
        "invalid": ["agent_0"],
    },
    "episode_end": {
        "limit": "success",
        "score": {"success": True, "progress": 1.0, "detail": {}},
        "steps": 12,
        "usage": USAGE,
        "message": None,
    },
}

TEAM = ("episode_start", "step", "episode_end")
