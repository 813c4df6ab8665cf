"""Agents at a real table: CUBE, a topology, the clock and the log."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_kit import Recorder, plan_json

from emcoop.agents import AGENTS
from emcoop.agents.base import Agent, Seat
from emcoop.core.errors import ModelRefused
from emcoop.core.types import AgentId, Micros
from emcoop.envs import ENVS
from emcoop.episode.latency import LatencyConfig, make_latency
from emcoop.episode.loop import Limits, Outcome, Table
from emcoop.models.base import Turn
from emcoop.models.scripted import ScriptedModel
from emcoop.topologies import TOPOLOGIES


class Memory:
    """A writer that keeps the events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def append(
        self,
        kind: str,
        payload: Mapping[str, Any],
        *,
        cog_time: int,
        env_step: int,
        agent: Any = None,
        host: Any = None,
    ) -> int:
        event = {"seq": len(self.events), "cog_time": cog_time, "env_step": env_step, "agent": agent}
        self.events.append({**event, "kind": kind, "payload": json.loads(json.dumps(payload))})
        return len(self.events) - 1

    def blob(self, data: bytes | str) -> str:
        return "0"

    def checkpoint(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e["kind"] in kinds]


def chatter(turns: Sequence[Turn], schema: Any, settings: Any) -> str:
    """A model that, by its seed, plans, talks, interrupts, or answers nonsense, or asks for the impossible."""
    request, luck = turns[-1].content, settings.seed % 8
    if luck == 0:
        return "nonsense"
    if "# Wanted: a message" in request:
        return json.dumps(
            {"recipients": ["agent_1"] if luck < 4 else [], "content": f"at {luck}" if luck < 4 else None}
        )
    plan = {"task": "none", "actions": [{"action_type": "move", "direction": "right", "num_steps": 1 + luck % 3}]}
    if luck == 5:
        plan["actions"] = [{"action_type": "push", "block_id": 0, "num_steps": 1}]
    if "# Wanted: resume" in request:
        return json.dumps(
            {"decision": "replan", "new_plan": plan if luck % 2 else None} if luck > 3 else {"decision": "resume"}
        )
    return json.dumps(plan)


def play(
    team: dict[str, Any], recorded: Mapping[AgentId, Sequence[Micros]] | None = None, steps: int = 12
) -> tuple[Outcome, Memory]:
    env = ENVS.get("cube")(agents=2, level="easy")
    topology = TOPOLOGIES.get("decentralized")(env.agents)
    minds: dict[AgentId, Agent] = {
        agent: AGENTS.get(name)(Seat(agent, env, 1, model, options)) for agent, (name, model, options) in team.items()
    }
    log = Memory()
    config = LatencyConfig(kind="recorded" if recorded else "tokens")
    table = Table(
        env=env,
        topology=topology,
        team=minds,
        seed=3,
        latency=make_latency(config, 3, recorded),
        writer=log,
        limits=Limits(max_steps=steps),
    )
    return asyncio.run(table.play({})), log


def test_a_replayed_team_repeats_the_episode_event_by_event(tmp_path: Path) -> None:
    agents = ("agent_0", "agent_1")
    _, first = play({a: ("llm", ScriptedModel(chatter), {"attempts": 1}) for a in agents})
    for kind in ("plan_committed", "plan_rejected", "plan_resumed", "plan_interrupted", "message_sent"):
        assert first.of(kind), f"the first episode shows no {kind}"
    file = tmp_path / "episode.jsonl"
    file.write_text("".join(json.dumps(e) + "\n" for e in first.events))
    latencies = {a: [e["payload"]["latency_us"] for e in first.of("decision") if e["agent"] == a] for a in agents}
    _, second = play({a: ("replayed", None, {"file": str(file)}) for a in agents}, latencies)

    def told(log: Memory) -> list[Any]:
        kept = [e for e in log.events if e["kind"] not in ("decision", "model_call", "episode_end")]
        return [(e["cog_time"], e["env_step"], e["agent"], e["kind"], e["payload"]) for e in kept]

    assert told(second) == told(first)
    for key in ("faculty", "fallback", "latency_us"):
        assert [e["payload"][key] for e in second.of("decision")] == [e["payload"][key] for e in first.of("decision")]


def test_a_team_whose_models_answer_nonsense_plays_to_the_limit_by_its_fallbacks() -> None:
    outcome, log = play({a: ("llm", Recorder("nonsense").model, {}) for a in ("agent_0", "agent_1")}, steps=5)
    assert (outcome.steps, outcome.limit) == (5, "horizon")
    assert {e["payload"]["fallback"] for e in log.of("decision")} == {"wait", "silence"}
    assert log.of("message_sent") == []
    assert all(e["payload"]["error"] for e in log.of("model_call"))


def test_a_model_that_refuses_ends_the_episode_and_is_named() -> None:
    team = {a: ("llm", Recorder(ModelRefused("no such model: tiny")).model, {}) for a in ("agent_0", "agent_1")}
    outcome, _ = play(team)
    assert (outcome.limit, outcome.steps) == ("model_failure", 0)
    assert "no such model: tiny" in str(outcome.message)


def test_what_went_wrong_reaches_the_next_prompt() -> None:
    recorder = Recorder(plan_json({"action_type": "push", "block_id": 77, "num_steps": 1}))
    play({"agent_0": ("llm", recorder.model, {}), "agent_1": ("null", None, {})}, steps=1)
    plans = [turns[1].content for turns in recorder.prompts if "# Wanted: a plan" in turns[1].content]
    assert "unknown_block" not in plans[0]
    assert "- PRE_CHECK, unknown_block: " in plans[1]


@pytest.mark.parametrize("faculty", ["plan", "speak", "interrupt", "act"])
def test_any_faculty_of_a_language_model_can_be_nulled_in_play(faculty: str) -> None:
    team = {
        "agent_0": ("composite", ScriptedModel(chatter), {"base": "llm", faculty: "null"}),
        "agent_1": ("llm", ScriptedModel(chatter), {}),
    }
    outcome, log = play(team, steps=6)
    assert outcome.steps == 6
    asked = {e["payload"]["faculty"] for e in log.of("model_call") if e["agent"] == "agent_0"}
    assert faculty not in asked
    if faculty == "speak":
        assert {e["agent"] for e in log.of("message_sent")} <= {"agent_1"}
    if faculty in ("act", "plan"):
        assert {e["payload"]["actions"]["agent_0"] for e in log.of("step")} == {0}


def test_oracle_faculties_can_be_given_to_a_language_model_apart() -> None:
    team = {
        "agent_0": ("composite", ScriptedModel(chatter), {"base": "llm", "plan": "oracle"}),
        "agent_1": ("oracle", None, {}),
    }
    outcome, log = play(team, steps=100)
    assert outcome.score.success
    asked = {e["payload"]["faculty"] for e in log.of("model_call")}
    assert "speak" in asked
    assert "plan" not in asked
