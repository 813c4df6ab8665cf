"""The interaction loop on hand-worked timelines; constant latency 1 s, a joint step takes 0.1 s."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.episode.seats import Listed, played, waiting

from emcoop.core.errors import Stall
from emcoop.core.types import Choice, Interrupt, Limit, Outgoing, Plan, Usage
from emcoop.envs.base import Grounding, Progress
from emcoop.envs.cube.actions import Push, WaitFor
from emcoop.envs.cube.env import make
from emcoop.episode.latency import LatencyConfig
from emcoop.log.events import Event, UsageFields
from emcoop.topologies import decentralized, individual
from emcoop.topologies.base import Speaker
from emcoop.topologies.debate import make as debate

TWO = ("agent_0", "agent_1")
TO_1 = Outgoing(("agent_1",), "hello")
TO_0 = Outgoing(("agent_0",), "hello")


def stages(events: list[Event], agent: str) -> list[tuple[float, str]]:
    return [(e.cog_time / 1e6, e.payload["to"]) for e in events if e.kind == "stage" and e.agent == agent]


def kinds(events: list[Event], kind: str) -> list[Event]:
    return [e for e in events if e.kind == kind]


def play(*args: object, **kwargs: object) -> tuple[object, list[Event], str]:
    return asyncio.run(played(*args, **kwargs))  # type: ignore[arg-type]


def test_an_agent_with_a_plan_waits_while_another_reasons(tmp_path: Path) -> None:
    env = make(2, "easy")
    team = [Listed(env, [waiting(2)]), Listed(env, [waiting(1), waiting(1)])]
    outcome, events, _ = play(tmp_path, individual.make(TWO), team, env, max_steps=2)
    assert outcome.limit is Limit.HORIZON
    # Both plan until 1.0 and execute until 1.1; then agent_1 needs a plan until 2.1, and agent_0 waits for it.
    assert stages(events, "agent_0") == [(0, "R"), (1, "X"), (1.1, "W"), (2.1, "X")]
    assert stages(events, "agent_1") == [(0, "R"), (1, "X"), (1.1, "R"), (2.1, "X")]
    assert [e.cog_time / 1e6 for e in kinds(events, "step")] == [1.1, 2.2]


def test_kappa_counts_the_completed_steps_at_every_event(tmp_path: Path) -> None:
    env = make(2, "easy")
    _, events, _ = play(tmp_path, individual.make(TWO), [Listed(env), Listed(env)], env, max_steps=4)
    ends = [e.cog_time for e in kinds(events, "step")]
    for event in events:
        if event.kind != "episode_end":
            assert sum(end < event.cog_time for end in ends) <= event.env_step <= sum(e <= event.cog_time for e in ends)


def test_a_message_interrupts_a_waiting_agent_which_resumes_the_same_plan(tmp_path: Path) -> None:
    env = make(2, "easy")
    # Both are silent at first and have their plans at 2.0.
    first = Listed(env, [waiting(3)])
    second = Listed(env, [waiting(1), waiting(1)], messages=[None, TO_0])
    _, events, _ = play(tmp_path, decentralized.make(TWO), [first, second], env, max_steps=3)
    # Step 1 ends at 2.1. agent_1 then speaks until 3.1; agent_0, waiting, decides until 4.1 and waits again.
    assert stages(events, "agent_0")[:5] == [(0, "R"), (2, "X"), (2.1, "W"), (3.1, "I"), (4.1, "W")]
    plan = kinds(events, "plan_committed")[0].payload["plan_id"]
    assert [e.payload["plan_id"] for e in kinds(events, "plan_interrupted")] == [plan]
    assert [e.payload["plan_id"] for e in kinds(events, "plan_resumed")] == [plan]
    ended = [e for e in kinds(events, "plan_ended") if e.payload["plan_id"] == plan]
    assert [e.payload["executed"] for e in ended] == [3]


def test_replanning_replaces_the_plan(tmp_path: Path) -> None:
    env = make(2, "easy")
    first = Listed(env, [waiting(5), waiting(2)], choices=[Interrupt(Choice.REPLAN)])
    second = Listed(env, [waiting(1), waiting(5)], messages=[None, TO_0])
    _, events, _ = play(tmp_path, decentralized.make(TWO), [first, second], env, max_steps=2)
    ended = [(e.payload["plan_id"], e.payload["outcome"]) for e in kinds(events, "plan_ended") if e.agent == "agent_0"]
    assert ended[0][1] == "replaced"
    assert [e.payload["origin"] for e in kinds(events, "plan_committed") if e.agent == "agent_0"] == ["new", "replan"]


def test_a_message_to_a_reasoning_agent_does_not_interrupt_and_is_read_at_its_next_prompt(tmp_path: Path) -> None:
    env = make(2, "easy")
    teller, hearer = Listed(env, messages=[TO_1]), Listed(env, messages=[None, None])
    _, events, _ = play(tmp_path, decentralized.make(TWO), [teller, hearer], env, max_steps=2)
    assert kinds(events, "plan_interrupted") == []
    delivered = kinds(events, "message_delivered")[0]
    read = next(e for e in kinds(events, "message_read") if e.agent == "agent_1")
    assert delivered.cog_time == 1_000_000
    assert read.payload["ids"] == [1]
    # It was asked for a plan in the moment of the delivery; the message waits for the prompt after it.
    assert [(faculty, [m.content for m in view.unread]) for faculty, view in hearer.views][:3] == [
        ("speak", []),
        ("plan", []),
        ("speak", ["hello"]),
    ]


def test_send_and_receive_budgets_are_enforced_and_refusals_are_events(tmp_path: Path) -> None:
    three = ("agent_0", "agent_1", "agent_2")
    env = make(3, "easy")
    team = [Listed(env, messages=[Outgoing(("agent_2",), str(k)) for k in range(9)]) for _ in range(2)]
    topology = decentralized.make(three, sends=2, receives=3)
    _, events, _ = play(tmp_path, topology, [*team, Listed(env)], env, max_steps=1)
    sent = kinds(events, "message_sent")
    assert [sum(e.agent == agent for e in sent) for agent in three] == [2, 2, 0]
    refused = kinds(events, "message_refused")
    assert [(e.agent, e.payload["reason"]) for e in refused] == [("agent_2", "receive_budget")]
    assert len(kinds(events, "message_delivered")) == 3


def test_hostile_messages_are_refused_with_a_reason(tmp_path: Path) -> None:
    env = make(2, "easy")
    wrong = [Outgoing(("agent_7",), "x"), Outgoing(TWO[1:], "  "), Outgoing(TWO[1:], "x" * 100_000), Outgoing((), "x")]
    for number, outgoing in enumerate(wrong):
        folder = tmp_path / str(number)
        _, events, _ = play(
            folder, decentralized.make(TWO), [Listed(env, messages=[outgoing]), Listed(env)], env, max_steps=1
        )
        assert [e.payload["reason"] for e in kinds(events, "message_refused")] == [
            ("unknown_recipient", "empty", "too_long", "unknown_recipient")[number]
        ]


def test_individual_agents_never_speak(tmp_path: Path) -> None:
    env = make(2, "easy")
    team = [Listed(env, messages=[TO_1]), Listed(env, messages=[TO_0])]
    _, events, _ = play(tmp_path, individual.make(TWO), team, env, max_steps=3)
    assert kinds(events, "message_sent") == []
    assert kinds(events, "plan_interrupted") == []


def test_debaters_speak_in_order_and_earlier_ones_are_not_reopened(tmp_path: Path) -> None:
    three = ("agent_0", "agent_1", "agent_2")
    env = make(3, "easy")
    team = [Listed(env, messages=[Outgoing(tuple(o for o in three if o != me), me)]) for me in three]
    _, events, _ = play(tmp_path, debate(three), team, env, max_steps=1)
    sent = kinds(events, "message_sent")
    assert [e.agent for e in sent] == list(three)
    assert [e.cog_time / 1e6 for e in sent] == [1, 2, 3]
    assert kinds(events, "plan_interrupted") == []


def test_a_rejected_plan_is_asked_for_again_then_the_agent_waits(tmp_path: Path) -> None:
    env = make(1, "easy")
    wrong = Plan("block_0:left", (Push(block_id=0, num_steps=1),))
    agent = Listed(env, [wrong] * 3)
    _, events, _ = play(tmp_path, individual.make(TWO[:1]), [agent], env, max_steps=1)
    assert [e.payload["failure"]["code"] for e in kinds(events, "plan_rejected")] == ["no_contact"] * 3
    assert [e.payload["origin"] for e in kinds(events, "plan_committed")] == ["fallback"]
    feedback = [[f.code for f in view.feedback] for _, view in agent.views]
    assert feedback == [[], ["no_contact"], ["no_contact"]]


def test_waiting_for_a_message_ends_when_it_arrives(tmp_path: Path) -> None:
    env = make(2, "easy")
    first = Listed(env, [Plan("none", (WaitFor(agent_id="agent_1", timeout=9),))])
    second = Listed(env, [waiting(1), waiting(1), waiting(9)], messages=[None, None, TO_0])
    _, events, _ = play(tmp_path, decentralized.make(TWO, sends=1), [first, second], env, max_steps=4)
    ended = next(e for e in kinds(events, "plan_ended") if e.agent == "agent_0")
    assert (ended.payload["outcome"], ended.payload["executed"]) == ("done", 2)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"max_tokens": 35}, Limit.TOKENS),
        ({"max_usd": 0.35}, Limit.MONEY),
        ({"wall_clock_s": 1e-9}, Limit.WALL_CLOCK),
        ({"max_steps": 3}, Limit.HORIZON),
        ({}, Limit.HORIZON),
    ],
)
def test_the_limit_that_ended_an_episode_is_recorded(tmp_path: Path, limits: dict[str, float], expected: Limit) -> None:
    env = make(1, "easy", horizon=6)
    agent = Listed(env, usage=Usage(input_tokens=6, output_tokens=4, cost_usd=0.1))
    outcome, events, _ = play(tmp_path, individual.make(TWO[:1]), [agent], env, **limits)
    assert outcome.limit is expected
    assert events[-1].payload["limit"] == expected.value
    steps = {Limit.TOKENS: 3, Limit.MONEY: 3, Limit.WALL_CLOCK: 0}.get(expected, 3 if limits else 6)
    assert outcome.steps == steps


def test_the_known_prices_of_a_mixed_team_reach_the_limit_of_money(tmp_path: Path) -> None:
    env = make(2, "easy", horizon=6)
    team = [Listed(env, usage=Usage(1, 1, 0, 1, cost)) for cost in (0.1, None)]
    outcome, events, _ = play(tmp_path, individual.make(TWO), team, env, max_usd=0.35)
    assert (outcome.limit, outcome.steps, outcome.usage.cost_usd) == (Limit.MONEY, 3, None)
    assert set(events[-1].payload["usage"]) == set(UsageFields.model_fields)


def test_a_protocol_that_never_plans_is_a_stall_that_names_the_agent(tmp_path: Path) -> None:
    class Silent(individual.Individual):
        async def deliberate(self, me: Speaker) -> None:
            if me.agent != "agent_1":
                await me.plan()

    env = make(2, "easy")
    topology = Silent(TWO, individual.make(TWO).channel)
    with pytest.raises(Stall, match="agent_1 is not ready at step 0"):
        play(tmp_path, topology, [Listed(env), Listed(env)], env)


def shuffled_team(seed: int) -> list[Listed]:
    env = make(3, "easy")
    rng = random.Random(seed)
    everyone = ("agent_0", "agent_1", "agent_2")
    return [
        Listed(
            env,
            [waiting(1 + k % 3) for k in range(5)],
            messages=[Outgoing(tuple(a for a in everyone if a != me), f"{me} {k}") for k in range(20)],
            delays=[rng.random() * 0.004 for _ in range(200)],
        )
        for me in everyone
    ]


def test_real_delays_in_any_order_give_the_same_log(tmp_path: Path) -> None:
    topology = decentralized.make(("agent_0", "agent_1", "agent_2"), delay_s=0.3, loss=0.2)
    jittered = LatencyConfig(kind="tokens", jitter=0.5)
    digests = {play(tmp_path / str(k), topology, shuffled_team(k), latency=jittered, max_steps=8)[2] for k in range(6)}
    assert len(digests) == 1


def test_episodes_side_by_side_give_the_logs_they_give_alone(tmp_path: Path) -> None:
    topology = decentralized.make(("agent_0", "agent_1", "agent_2"))

    async def together() -> list[str]:
        plays = [played(tmp_path / f"side{k}", topology, shuffled_team(k), max_steps=6) for k in range(8)]
        return [digest for _, _, digest in await asyncio.gather(*plays)]

    alone = play(tmp_path / "alone", topology, shuffled_team(99), max_steps=6)[2]
    assert set(asyncio.run(together())) == {alone}


class Grounded(Listed):
    """Notes in which state it was asked for a move."""

    asked: tuple[object, ...] = ()

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        self.asked = (*self.asked, state)
        return super().act(state, action, progress)


def test_a_plan_is_grounded_once_in_each_state(tmp_path: Path) -> None:
    env = make(2, "easy")
    team = [Grounded(env, [waiting(6)]), Grounded(env, [waiting(6)])]
    play(tmp_path, individual.make(TWO), team, env, max_steps=5)
    for agent in team:
        assert len(agent.asked) == 5  # the limit ends the episode before the sixth state is looked at
        assert len({id(state) for state in agent.asked}) == 5
