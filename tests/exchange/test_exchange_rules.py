"""The rules one by one, and what is refused with which reason."""

from __future__ import annotations

from typing import Any

import pytest
from exchange_kit import act, codes, holds, mover, until

from emcoop.core.errors import ConfigError
from emcoop.core.types import Failure, Outgoing, Plan
from emcoop.envs.exchange.actions import ExchangePlan, Turn
from emcoop.envs.exchange.env import make
from emcoop.envs.exchange.rules import REASONS, named_pieces, request_text


def send(to: int, piece: int, value: int) -> dict[str, Any]:
    return {"action_type": "send", "to": f"agent_{to}", "piece": piece, "value": value}


def request(to: int, piece: int) -> dict[str, Any]:
    return {"action_type": "request", "to": f"agent_{to}", "piece": piece}


def submit(number: int) -> dict[str, Any]:
    return {"action_type": "submit", "number": number}


def test_pieces_are_held_by_one_agent_each_at_the_start() -> None:
    env = make(10)
    state = env.reset(0)
    assert [[a for a in range(10) if holds(state, a, p)] for p in range(100)] == [[p // 10] for p in range(100)]
    assert (env.horizon, env.spec.most_tasks) == (200, 400)


def test_a_horizon_in_turns_may_cut_the_last_round() -> None:
    env = make(3, horizon=7)
    assert (env.horizon, env.spec.rounds) == (7, 3)
    state = env.reset(0)
    ends = []
    for _ in range(7):
        transition = env.step(state, dict.fromkeys(env.agents, 0))
        state = transition.state
        ends.append(transition.truncated)
    assert ends == [False] * 6 + [True]
    assert "Round 3 of 3" in env.describe(env.observe(state, "agent_0"))


def test_pieces_that_do_not_divide_evenly_are_all_dealt() -> None:
    env = make(3, pieces=11)
    state = env.reset(0)
    assert [sum(holds(state, a, p) for a in range(3)) for p in range(11)] == [1] * 11
    assert sorted(len(env.spec.own(a)) for a in range(3)) == [3, 4, 4]


def test_every_round_everybody_moves_once_in_an_order_drawn_anew() -> None:
    env = make(10)
    state, orders = env.reset(1), []
    for _ in range(20):
        order = []
        for _ in range(10):
            order.append(mover(env, state))
            state = env.step(state, dict.fromkeys(env.agents, 0)).state
        orders.append(tuple(order))
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert len(set(orders)) > 15


def test_a_sent_piece_is_a_copy_and_is_there_at_once() -> None:
    env = make(3)
    state = env.reset(0)
    me = mover(env, state)
    piece = env.spec.own(me)[0]
    value = state.held[me][piece]
    other = (me + 1) % 3
    state, events = act(env, state, [send(other, piece, value)])
    assert holds(state, me, piece)
    assert state.held[other][piece] == value
    assert [e["kind"] for e in events] == ["turn", "sent"]
    assert events[1]["answer"] == "unsolicited"


def test_the_directory_is_that_of_the_rounds_start() -> None:
    env = make(3)
    state = env.reset(0)
    me, piece = mover(env, state), env.spec.own(mover(env, state))[0]
    other = f"agent_{(me + 1) % 3}"
    state, _ = act(env, state, [send((me + 1) % 3, piece, 50)])
    shown = env.observe(state, "agent_0").directory[(me + 1) % 3]
    assert str(piece) not in shown.replace("-", ", ").split(", ")
    for _ in range(2):
        state, _ = act(env, state, [])
    index = int(other[6:])
    assert holds(state, index, piece)
    assert env.observe(state, "agent_0").directory[index] != shown


def complete(env: Any, state: Any, agent: int, wrong: int = 0) -> Any:
    """Everybody sends what the agent's first task needs, so many pieces under a wrong value; it is the agent's turn."""
    for piece in env.observe(state, f"agent_{agent}").tasks[0].missing:
        source = env.spec.source(piece)
        state = until(env, state, source)
        value = state.held[source][piece]
        state, _ = act(env, state, [send(agent, piece, value if wrong <= 0 else (value + 1) % 101)])
        wrong -= 1
    assert wrong <= 0
    return until(env, state, agent)


@pytest.mark.parametrize(("wrong", "pay"), [(0, 10_000.0), (1, 5_000.0), (2, 2_500.0), (3, 1_250.0)])
def test_every_wrong_value_halves_the_pay(wrong: int, pay: float) -> None:
    env = make(10, task_pieces=6)
    state = complete(env, env.reset(3), 0, wrong)
    number = state.desks[0].tasks[0][0]
    after, events = act(env, state, [submit(number)])
    assert after.desks[0].revenue == pay
    assert [e["wrong"] for e in events if e["kind"] == "submitted"] == [wrong]
    assert after.desks[0].tasks[0][0] == env.spec.open_tasks


def test_a_received_piece_is_never_overwritten_unless_the_world_says_so() -> None:
    for overwrite in (False, True):
        env = make(3, overwrite=overwrite)
        state = env.reset(0)
        me, piece = mover(env, state), env.spec.own(mover(env, state))[0]
        true = state.held[me][piece]
        state, _ = act(env, state, [send((me + 1) % 3, piece, (true + 1) % 101), send((me + 1) % 3, piece, true)])
        assert (state.held[(me + 1) % 3][piece] == true) is overwrite


def test_a_request_stays_open_until_it_is_answered() -> None:
    env = make(3)
    state = env.reset(0)
    asker = mover(env, state)
    holder = (asker + 1) % 3
    piece = env.spec.own(holder)[0]
    state, _ = act(env, state, [request(holder, piece)])
    assert [(r.agent, r.piece) for r in env.observe(state, f"agent_{holder}").requests] == [(f"agent_{asker}", piece)]
    assert [(r.agent, r.piece) for r in env.observe(state, f"agent_{asker}").asking] == [(f"agent_{holder}", piece)]
    state = until(env, state, holder)
    state, events = act(env, state, [send(asker, piece, state.held[holder][piece])])
    assert [e["answer"] for e in events if e["kind"] == "sent"] == ["answered"]
    assert env.observe(state, f"agent_{holder}").requests == ()


def test_an_answer_after_an_idle_turn_is_late_and_a_false_one_is_falsified() -> None:
    env = make(2)
    state = until(env, env.reset(0), 0)
    first, second = env.spec.own(1)[:2]
    state, _ = act(env, state, [request(1, first), request(1, second)])
    state = until(env, state, 1)
    state, _ = act(env, state, [])
    state = until(env, state, 1)
    values = state.held[1]
    state, events = act(env, state, [send(0, first, values[first]), send(0, second, (values[second] + 1) % 101)])
    assert [e["answer"] for e in events if e["kind"] == "sent"] == ["late", "falsified"]
    assert env.score(state).detail["response_rate"] == 0.5


BAD: list[tuple[str, dict[str, Any]]] = [
    ("unknown_agent", {"action_type": "send", "to": "agent_77", "piece": 0, "value": 3}),
    ("unknown_agent", {"action_type": "request", "to": "bob", "piece": 0}),
    ("unknown_agent", {"action_type": "message", "to": "agent_01", "text": "hello"}),
    ("unknown_piece", {"action_type": "request", "to": "OTHER", "piece": 5000}),
    ("to_oneself", {"action_type": "message", "to": "ME", "text": "hello"}),
    ("to_oneself", {"action_type": "send", "to": "ME", "piece": 0, "value": 3}),
    ("not_held", {"action_type": "send", "to": "OTHER", "piece": "THEIRS", "value": 3}),
    ("already_held", {"action_type": "request", "to": "OTHER", "piece": "MINE"}),
    ("value_out_of_range", {"action_type": "send", "to": "OTHER", "piece": "MINE", "value": 101}),
    ("value_out_of_range", {"action_type": "send", "to": "OTHER", "piece": "MINE", "value": "many"}),
    ("unknown_task", {"action_type": "submit", "number": 99}),
    ("unknown_task", {"action_type": "submit", "number": -1}),
    ("incomplete", {"action_type": "submit", "number": 0}),
    ("empty_message", {"action_type": "broadcast", "text": "  "}),
    ("malformed", {"action_type": "steal", "piece": 3}),
    ("malformed", {}),
    ("malformed", {"action_type": "message", "to": "OTHER"}),
]


@pytest.mark.parametrize(("code", "action"), BAD, ids=[f"{code}-{i}" for i, (code, _) in enumerate(BAD)])
def test_an_impossible_action_has_a_typed_reason_and_costs_nothing(code: str, action: dict[str, Any]) -> None:
    env = make(10)
    state = env.reset(2)
    me = mover(env, state)
    other = (me + 1) % 10
    words = {"ME": f"agent_{me}", "OTHER": f"agent_{other}"}
    words |= {"MINE": env.spec.own(me)[0], "THEIRS": env.spec.own(other)[0]}
    action = {key: words.get(value, value) for key, value in action.items()}
    good = send(other, env.spec.own(me)[1], state.held[me][env.spec.own(me)[1]])
    after, events = act(env, state, [action, good])
    assert codes(events) == [code]
    assert code in REASONS
    assert holds(after, other, env.spec.own(me)[1]), "the good action after the bad one is carried out"
    assert after.held[me] == state.held[me]
    assert any("was refused" in line for line in env.observe(after, f"agent_{me}").notices)


def test_submitting_twice_pays_once() -> None:
    env = make(10)
    state = complete(env, env.reset(3), 0)
    number = state.desks[0].tasks[0][0]
    after, events = act(env, state, [submit(number), submit(number)])
    assert codes(events) == ["already_submitted"]
    assert (after.desks[0].done, after.desks[0].revenue) == (1, 10_000.0)
    after, events = act(env, until(env, after, 0), [submit(number)])
    assert codes(events) == ["already_submitted"]


def test_a_task_cannot_be_submitted_in_the_turn_that_brings_it() -> None:
    env = make(1, pieces=4, open_tasks=1, task_pieces=4)
    state, events = act(env, env.reset(0), [submit(0), submit(1), submit(2)])
    assert codes(events) == ["unknown_task", "unknown_task"]
    state, events = act(env, state, [submit(1)])
    assert codes(events) == []
    assert state.desks[0].done == 2


def test_a_thousand_actions_are_bounded_with_one_reason() -> None:
    env = make(10)
    state = env.reset(0)
    me = mover(env, state)
    piece = env.spec.own(me)[0]
    actions = [send((me + 1) % 10, piece, state.held[me][piece])] * 1000
    after, events = act(env, state, actions)
    assert codes(events) == ["too_many_actions"]
    assert sum(e["kind"] == "sent" for e in events) == env.spec.most_actions == 106
    assert "at most" in " ".join(env.observe(after, f"agent_{me}").notices)


def test_a_plan_keeps_every_action_but_only_those_carried_out_speak() -> None:
    env = make(10, most_actions=3)
    actions = [{"action_type": "broadcast", "text": f"number {i}"} for i in range(1000)]
    plan = env.parse_plan(ExchangePlan.model_validate({"task": "none", "actions": actions}))
    assert isinstance(plan.actions[0], Turn)
    assert len(plan.actions[0].actions) == 1000
    assert [said.content for said in plan.messages] == ["number 0", "number 1", "number 2"]


def test_out_of_turn_moves_have_no_effect_and_say_so() -> None:
    env = make(3)
    state = env.reset(0)
    other = f"agent_{(mover(env, state) + 1) % 3}"
    piece = env.spec.own((mover(env, state) + 1) % 3)[0]
    moves: dict[str, Any] = dict.fromkeys(env.agents, 0)
    moves[other] = {"primitive": 1, "actions": [send(mover(env, state), piece, 3)]}
    transition = env.step(state, moves)
    assert codes([dict(e) for e in transition.events]) == ["not_your_turn"]
    assert transition.state.held == state.held


def test_sends_beyond_the_bandwidth_are_refused() -> None:
    env = make(3, most_sends=1)
    state = env.reset(0)
    me = mover(env, state)
    pieces = env.spec.own(me)[:3]
    _, events = act(env, state, [send((me + 1) % 3, p, state.held[me][p]) for p in pieces])
    assert codes(events) == ["over_bandwidth"] * 2


def test_a_message_that_did_not_go_out_does_not_count() -> None:
    env = make(3)
    state = env.reset(0)
    me = mover(env, state)
    holder = (me + 1) % 3
    piece = env.spec.own(holder)[0]
    after, events = act(env, state, [request(holder, piece)], said=[])
    assert codes(events) == ["not_sent"]
    assert after.desks[holder].asked == ()
    after, events = act(env, state, [request(holder, piece)], said=[request_text(piece)])
    assert codes(events) == []
    assert len(after.desks[holder].asked) == 1


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Could you send me piece 12?", (12,)),
        ("I need pieces 3, 4 and 5, please", (3, 4, 5)),
        ("piece_7 and piece-8 and PIECE 9", (7, 8, 9)),
        ("information 41; #6", (41, 6)),
        ("I have 12 apples and piece 900", ()),
        ("a masterpiece 5", ()),
    ],
)
def test_a_message_that_names_pieces_is_read(text: str, pieces: tuple[int, ...]) -> None:
    assert named_pieces(text, 100) == pieces


def test_a_plain_message_that_names_a_piece_is_a_request_and_is_filled_by_the_assist() -> None:
    for fulfil in (False, True):
        env = make(3, auto_fulfil=fulfil)
        state = env.reset(0)
        me = mover(env, state)
        holder = (me + 1) % 3
        piece = env.spec.own(holder)[0]
        text = {"action_type": "message", "to": f"agent_{holder}", "text": f"May I have piece {piece}?"}
        after, events = act(env, state, [text])
        assert [e["how"] for e in events if e["kind"] == "requested"] == ["named"]
        assert holds(after, me, piece) is fulfil
        assert len(after.desks[holder].asked) == (not fulfil)


def test_what_is_said_beside_the_plan_is_heard_too() -> None:
    env = make(3, auto_fulfil=True)
    state = env.reset(0)
    me = mover(env, state)
    piece = env.spec.own((me + 1) % 3)[0]
    after, _ = act(env, state, [], said=[f"who has piece {piece}?"])
    assert holds(after, me, piece)


@pytest.mark.parametrize(
    ("arm", "sender", "recipient", "total"),
    [("received", 1000, 0, 1000), ("by_recipient", 1000, -1000, 0), ("symbolic", 1000, 0, 0), ("if_used", 0, 0, 0)],
)
def test_a_new_piece_pays_its_sender(arm: str, sender: float, recipient: float, total: float) -> None:
    env = make(3, incentive=1000, incentive_arm=arm)
    state = env.reset(0)
    me, piece = mover(env, state), env.spec.own(mover(env, state))[0]
    other = (me + 1) % 3
    after, _ = act(env, state, [send(other, piece, 3), send(other, piece, 3)])
    assert (after.desks[me].bonus, after.desks[other].bonus) == (sender, recipient)
    assert env.score(after).detail["revenue"] == total


def test_the_arm_if_used_pays_when_the_task_is_submitted() -> None:
    env = make(10, incentive=1000, incentive_arm="if_used")
    state = complete(env, env.reset(3), 0)
    before = sum(desk.bonus for desk in state.desks)
    needed = env.observe(state, "agent_0").tasks[0].pieces
    brought = sum(piece not in env.spec.own(0) for piece in needed)
    after, _ = act(env, state, [submit(state.desks[0].tasks[0][0])])
    assert (before, sum(desk.bonus for desk in after.desks)) == (0, 1000 * brought)


def test_switches_hide_what_they_name_and_nothing_else() -> None:
    shown = make(3).observe(make(3).reset(0), "agent_0")
    hidden = {"revenue_board": ("revenue", "done"), "thoughts": ("thought",)}
    hidden |= {"notices": ("notices",), "receipts": ("receipts",)}
    for switch, fields in hidden.items():
        env = make(3, **{switch: False})
        seen = env.observe(env.reset(0), "agent_0")
        expected = {**shown.model_dump(), **dict.fromkeys(fields)}
        assert seen.model_dump() == expected


def test_thoughts_are_kept_for_the_agent_alone() -> None:
    env = make(3)
    state = env.reset(0)
    me = mover(env, state)
    state, _ = act(env, state, [], thought="agent_1 owes me a piece")
    assert "owes me" in env.describe(env.observe(state, f"agent_{me}"))
    assert "owes me" not in env.describe(env.observe(state, f"agent_{(me + 1) % 3}"))


def test_the_assists_change_no_prompt() -> None:
    plain = make(10)
    assisted = make(10, auto_request=True, auto_fulfil=True, auto_submit=True)
    assert all(plain.rules(variant) == assisted.rules(variant) for variant in plain.prompt_variants)
    assert "POLICY" in make(10, protocol=True).rules("full")
    assert "1000 points" in make(10, incentive=1000, incentive_arm="symbolic").rules("short")


def test_a_plan_of_which_nothing_can_work_is_sent_back_and_any_good_action_saves_it() -> None:
    env = make(3)
    state = env.reset(0)
    bad = {"action_type": "send", "to": "agent_1", "piece": 25, "value": 3}
    good = {"action_type": "broadcast", "text": "hello"}

    def checked(*actions: dict[str, Any]) -> Failure | None:
        plan = env.parse_plan(ExchangePlan.model_validate({"task": "none", "actions": list(actions)}))
        return env.check_plan(state, "agent_0", plan)

    found = checked(bad, bad)
    assert found is not None
    assert (found.code, found.phase) == ("not_held", "PLAN_CHECK")
    assert "send(25=3 to agent_1)" in found.message
    assert checked(bad, good) is None


def test_a_message_goes_to_whom_it_names_and_a_broadcast_to_all() -> None:
    env = make(3)
    actions = [
        {"action_type": "message", "to": "agent_2", "text": "hi"},
        {"action_type": "request", "to": "agent_1", "piece": 12},
        {"action_type": "broadcast", "text": "all"},
    ]
    plan = env.parse_plan(ExchangePlan.model_validate({"task": "none", "actions": actions, "reasoning": "why"}))
    assert plan.messages == (
        Outgoing(("agent_2",), "hi"),
        Outgoing(("agent_1",), "Please send me piece 12."),
        Outgoing(env.agents, "all"),
    )
    assert isinstance(plan, Plan)
    assert plan.actions[0].model_dump()["thought"] == "why"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"pieces": 3}, "task needs 4"),
        ({"agents": 12, "pieces": 10}, "too few"),
        ({"agents": 10**8}, "1 to 1000 agents"),
        ({"incentive_arm": "gold"}, "incentive_arm"),
    ],
)
def test_worlds_that_cannot_be_dealt_are_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        make(**{"agents": 2, **options})
