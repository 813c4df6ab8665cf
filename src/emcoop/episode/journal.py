"""How decisions and steps are written into the log."""

from __future__ import annotations

from typing import Any

from emcoop.agents.base import Decision, View
from emcoop.core.canonical import to_json
from emcoop.core.types import AgentId, Json
from emcoop.episode.surroundings import Surroundings
from emcoop.models.base import Call, Turn


def record_decision(table: Surroundings, agent: AgentId, faculty: str, view: View, decision: Decision[Any]) -> None:
    """One `model_call` event for each call made, then the `decision` itself."""
    for call in decision.calls:
        table.record("model_call", _call(table, faculty, call), agent, host=_host(call))
    payload: dict[str, Json] = {
        "faculty": faculty,
        "view": table.observation_blob(agent),
        "usage": to_json(decision.usage),
        "latency_us": table.clock.now - view.now,
        "fallback": decision.fallback,
        "failures": to_json(decision.failures),
        "calls": len(decision.calls),
    }
    table.record("decision", payload, agent, host={"measured_s": decision.measured_s} if decision.calls else None)


def _call(table: Surroundings, faculty: str, call: Call) -> dict[str, Json]:
    done = call.completion
    return {
        "faculty": faculty,
        "schema": call.schema_name,
        "model": done.model if done else None,
        "prompt": [{"role": turn.role, "content": _kept(table, turn)} for turn in call.turns],
        "answer": table.blob(done.text) if done else None,
        "finish_reason": done.finish_reason if done else None,
        "usage": to_json(done.usage) if done else None,
        "error": call.error,
    }


def _kept(table: Surroundings, turn: Turn) -> str:
    return table.lasting_blob(turn.content) if turn.role == "system" else table.blob(turn.content)


def _host(call: Call) -> dict[str, Json]:
    """What the network and the cache had to do with the call: real, not repeatable, and outside the digest."""
    done = call.completion
    return {
        "latency_s": done.latency_s if done else None,
        "waited_s": sum(fault.waited_s for fault in call.faults),
        "cached": bool(done and done.cached),
        "faults": to_json(call.faults),
    }
