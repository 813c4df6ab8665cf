"""M6-M8 on hand-written logs."""

import math

import pytest
from fabricated import Script

from emcoop.metrics import compute

A, B, C = "agent_0", "agent_1", "agent_2"


def test_a_message_to_several_recipients_counts_once() -> None:
    values = compute(Script(agents=3).say(A, B, C).events)
    assert values["M6"] == 1.0


def test_messages_are_spread_over_all_agents_with_population_deviation() -> None:
    # Sent: 3, 1, 0. Mean 4/3; variance ((5/3)^2 + (1/3)^2 + (4/3)^2) / 3 = 42/27.
    values = compute(Script(agents=3).say(A, B, C).say(A, B).say(A, C).say(B, A).events)
    assert values["M6"] == 4.0
    assert values["M8"] == pytest.approx(4 / 3)
    assert values["M7"] == pytest.approx(math.sqrt(42 / 27))


def test_silence_is_zero_and_not_undefined() -> None:
    values = compute(Script(agents=1).events)
    assert [values[name] for name in ("M6", "M7", "M8")] == [0.0, 0.0, 0.0]


def test_refused_and_lost_messages_are_counted_apart() -> None:
    script = Script().say(A, B).add("message_lost", A, id=1, to=B)
    for reason in ("send_budget", "empty"):
        script.add("message_refused", A, id=None, reason=reason, to=[B], content="")
    values = compute(script.events)
    assert (values["M6"], values["messages_lost"], values["messages_refused"]) == (1.0, 1.0, 2.0)
