"""How decisions and steps are written into the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emcoop.agents.base import Decision, View
from emcoop.core.canonical import to_json
from emcoop.core.types import AgentId, Json
from emcoop.models.base import Call

if TYPE_CHECKING:
    from emcoop.episode.loop import Table


def record_decision(table: Table, agent: AgentId, faculty: str, view: View, decision: Decision[Any]) -> None:
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


def _call(table: Table, faculty: str, call: Call) -> dict[str, Json]:
    done = call.completion
    faults = [{"kind": f.kind, "attempt": f.attempt, "status": f.status, "message": f.message} for f in call.faults]
    return {
        "faculty": faculty,
        "schema": call.schema_name,
        "model": done.model if done else None,
        "prompt": [{"role": turn.role, "content": table.blob(turn.content)} for turn in call.turns],
        "answer": table.blob(done.text) if done else None,
        "finish_reason": done.finish_reason if done else None,
        "usage": to_json(done.usage) if done else None,
        "faults": faults,
        "error": call.error,
        "cached": bool(done and done.cached),
    }


def _host(call: Call) -> dict[str, Json]:
    waited = sum(fault.waited_s for fault in call.faults)
    return {"latency_s": call.completion.latency_s if call.completion else None, "waited_s": waited}
