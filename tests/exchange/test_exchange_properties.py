"""What must hold whatever is played: conservation, the same future from a snapshot, agreement with a second writing."""

from __future__ import annotations

from typing import Any

from exchange_naive import NaiveExchange
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.core.seeds import Stream
from emcoop.envs.exchange.env import Exchange, make
from emcoop.envs.exchange.results import money
from emcoop.envs.exchange.state import ABSENT, ExchangeState

worlds = st.fixed_dictionaries(
    {
        "agents": st.integers(1, 5),
        "rounds": st.integers(1, 5),
        "pieces": st.sampled_from([None, 7, 23]),
        "task_pieces": st.integers(1, 4),
        "open_tasks": st.integers(1, 3),
        "overwrite": st.booleans(),
        "auto_request": st.booleans(),
        "auto_fulfil": st.booleans(),
        "auto_submit": st.booleans(),
        "incentive": st.sampled_from([0.0, 1000.0]),
        "incentive_arm": st.sampled_from(["received", "if_used", "by_recipient", "symbolic"]),
        "most_sends": st.sampled_from([None, 1, 3]),
        "most_actions": st.sampled_from([None, 4]),
    }
)


def world(options: dict[str, Any]) -> Exchange:
    options = {key: value for key, value in options.items() if value is not None}
    agents = options.pop("agents")
    return make(agents, "easy", **options)


def some_actions(env: Exchange, state: ExchangeState, agent: int, stream: Stream) -> list[dict[str, Any]]:
    """Typed actions of which most are possible and some are not."""
    found: list[dict[str, Any]] = []
    desk, row = state.desks[agent], state.held[agent]
    held = [piece for piece, value in enumerate(row) if value != ABSENT]
    for request in desk.asked:
        if stream.below(3):
            value = row[request.piece] if stream.below(4) and row[request.piece] != ABSENT else stream.below(110)
            found.append(
                {"action_type": "send", "to": f"agent_{request.asker}", "piece": request.piece, "value": value}
            )
    for number, _ in desk.tasks:
        if stream.below(4):
            found.append({"action_type": "submit", "number": number + stream.below(2) * stream.below(3)})
    for _ in range(stream.below(6)):
        to = f"agent_{stream.below(env.spec.agents + 1)}"
        piece = stream.below(env.spec.pieces + 1)
        if stream.below(2):
            found.append({"action_type": "request", "to": to, "piece": piece})
        else:
            piece = stream.choice(held) if stream.below(3) else piece
            value = row[piece] if piece < env.spec.pieces and row[piece] != ABSENT else 5
            found.append({"action_type": "send", "to": to, "piece": piece, "value": value})
    return found


def play(env: Exchange, seed: int, actions_seed: int) -> list[tuple[ExchangeState, list[dict[str, Any]], Any]]:
    """(state, the mover's actions, transition) of a random episode to its end."""
    stream, state, found = Stream.named(actions_seed, "exchange-play"), env.reset(seed), []
    while True:
        mover = int(env.acting(state)[0].rpartition("_")[2])
        actions = some_actions(env, state, mover, stream)
        moves: dict[str, Any] = dict.fromkeys(env.agents, 0)
        moves[f"agent_{mover}"] = {"primitive": 1, "actions": actions}
        transition = env.step(state, moves)
        found.append((state, actions, transition))
        if transition.truncated:
            return found
        state = transition.state


@settings(max_examples=60, deadline=None)
@given(options=worlds, seed=st.integers(0, 50), actions_seed=st.integers(0, 10_000))
def test_a_second_writing_of_the_rules_comes_to_the_same(options: dict[str, Any], seed: int, actions_seed: int) -> None:
    env = world(options)
    naive = NaiveExchange(env.spec, seed)
    for state, actions, transition in play(env, seed, actions_seed):
        assert env.acting(state) == (f"agent_{naive.turn}",)
        naive.play(actions)
        after = transition.state
        hands = [{p: v for p, v in enumerate(row) if v != ABSENT} for row in after.held]
        assert hands == naive.hands
        assert [{n for n, _ in desk.tasks} for desk in after.desks] == [set(tasks) for tasks in naive.tasks]
        assert [desk.revenue for desk in after.desks] == naive.earned
        assert [desk.bonus for desk in after.desks] == naive.bonus
        assert [{p for p, v in enumerate(row) if v != ABSENT} for row in after.listed] == naive.directory
        asked = {(r.asker, holder, r.piece) for holder, desk in enumerate(after.desks) for r in desk.asked}
        assert asked == set(naive.requests)
        assert [e["code"] for e in transition.events if e["kind"] == "blocked"] == naive.refused


@settings(max_examples=40, deadline=None)
@given(options=worlds, seed=st.integers(0, 50), actions_seed=st.integers(0, 10_000))
def test_nothing_comes_from_nowhere(options: dict[str, Any], seed: int, actions_seed: int) -> None:
    """A piece is held from the start or was sent; a task pays once; revenue is the sum of pays and bonuses."""
    env = world(options)
    held = {(a, p) for a in range(env.spec.agents) for p in env.spec.own(a)}
    pays, bonuses, submitted = 0.0, 0.0, []
    for _, _, transition in play(env, seed, actions_seed):
        for event in transition.events:
            if event["kind"] == "sent":
                assert (int(event["agent"][6:]), event["piece"]) in held
                held.add((int(event["to"][6:]), event["piece"]))
            elif event["kind"] == "submitted":
                pays += event["pay"]
                submitted.append(event["task"])
            elif event["kind"] == "bonus":
                bonuses += event["amount"]
        after = transition.state
        assert {(a, p) for a, row in enumerate(after.held) for p, v in enumerate(row) if v != ABSENT} == held
    assert len(submitted) == len(set(submitted)) == sum(desk.done for desk in after.desks)
    symbolic = env.spec.incentive_arm == "symbolic"
    assert sum(money(after, env.spec)) == pays + (0.0 if symbolic else bonuses)
    assert all(len(desk.tasks) == env.spec.open_tasks for desk in after.desks)


@settings(max_examples=40, deadline=None)
@given(options=worlds, seed=st.integers(0, 50), actions_seed=st.integers(0, 10_000))
def test_a_snapshot_has_the_state_and_its_future(options: dict[str, Any], seed: int, actions_seed: int) -> None:
    env = world(options)
    for state, actions, transition in play(env, seed, actions_seed):
        again = env.restore(env.snapshot(state))
        mover = env.acting(state)[0]
        assert env.acting(again) == (mover,)
        moves = {**dict.fromkeys(env.agents, 0), mover: {"primitive": 1, "actions": actions}}
        after = env.step(again, moves)
        assert env.snapshot(after.state) == env.snapshot(transition.state)
        assert after.events == transition.events
        assert all(env.observe(again, a) == env.observe(state, a) for a in env.agents)
