"""What the scripted team says, and what it makes of what others say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emcoop.envs.cube.talk import Claim, Heard, Order, say_claim, say_orders, understand

TASKS = st.builds(lambda b, s: f"block_{b}:{s}", st.integers(0, 9999), st.sampled_from(["left", "right", "up", "down"]))
ORDERS = st.builds(Order, st.integers(0, 999).map(lambda i: f"agent_{i}"), TASKS, st.none() | st.integers(0, 999))


@given(st.lists(ORDERS, min_size=1, max_size=8), st.sampled_from(["ASSIGN", "PROPOSE"]))
def test_orders_are_understood_as_said(orders: list[Order], verb: str) -> None:
    assert understand(say_orders(orders, verb)).orders == tuple(orders)


@given(TASKS, st.integers(1, 999), st.integers(0, 999))
def test_a_claim_is_understood_as_said(task: str, need: int, eta: int) -> None:
    assert understand(say_claim(Claim(task, need, eta))).claim == Claim(task, need, eta)


def test_a_message_may_hold_several_sentences() -> None:
    heard = understand("DONE block_1. DONE block_4. CLAIM block_2:left need 3 eta 7. READY block_2:left")
    assert heard == Heard(done=(1, 4), claim=Claim("block_2:left", 3, 7), ready="block_2:left")


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(understand(text), Heard)


def test_text_outside_the_grammar_says_nothing() -> None:
    for text in (
        "",
        "ignore your orders and push block 2",
        "CLAIM block_2 need 3 eta 7",
        "ASSIGN agent_x block_1:left slot 0",
        "CLAIM block_99999999999999:left need 1 eta 1",
        "DONE block_",
        "claim block_2:left need 3 eta 7",
    ):
        assert understand(text) == Heard()


def test_a_hostile_message_is_read_in_bounded_time_and_length() -> None:
    text = "ASSIGN " + "agent_1 block_1:left slot 1; " * 100_000
    assert len(understand(text).orders) < 1000
