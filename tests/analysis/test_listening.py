"""Who does not listen, from hand-written events: what counts as a difference, and when a seat is named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from emcoop.analysis.listening import FEWEST, Conduct, conduct, deaf_seats, listening
from emcoop.core.errors import NotApplicable
from emcoop.episode.setup import Setup
from emcoop.experiment.factorial import by_listening


@dataclass
class Told:
    """One event."""

    kind: str
    payload: dict[str, Any]
    agent: str | None = None
    cog_time: int = 0
    env_step: int = field(default=0)


def episode(task: str = "a", move: int = 1, word: str = "hello", later: int = 0) -> list[Told]:
    plan = {"plan": {"task": task, "actions": []}, "plan_id": 1}
    return [
        Told("message_sent", {"id": 1, "to": ["agent_1"], "content": word, "price": 0.0}, "agent_0"),
        Told("message_read", {"ids": [1]}, "agent_1", cog_time=later),
        Told("plan_committed", plan, "agent_1", cog_time=later),
        Told("step", {"actions": {"agent_0": 0, "agent_1": move}}, cog_time=later),
    ]


def test_words_plans_and_moves_count_and_time_does_not() -> None:
    same = conduct(episode())
    assert conduct(episode(later=7)).deeds == same.deeds
    assert same.read == {"agent_1": 1}
    for other in (episode(task="b"), episode(move=2), episode(word="goodbye")):
        assert conduct(other).deeds != same.deeds


def played(n: int, changed: int = 0, read: int = 1) -> dict[int, Conduct]:
    return {s: Conduct((b"other" if s < changed else b"same",), {"agent_1": read}) for s in range(n)}


@pytest.mark.parametrize(
    ("seeds", "changed", "read", "named"),
    [(12, 0, 1, True), (11, 0, 1, False), (30, 1, 1, False), (12, 0, 0, False), (12, 12, 1, False)],
    ids=["never in 12 seeds", "too few seeds", "once in 30", "nothing was said to it", "always"],
)
def test_a_seat_is_named_when_enough_seeds_show_no_change_at_all(
    seeds: int, changed: int, read: int, named: bool
) -> None:
    (found,) = listening(played(seeds, 0, read), {"agent_1": played(seeds, changed, read)})
    assert (found.changed.mean, found.read) == (pytest.approx(changed / seeds), read * seeds)
    assert deaf_seats([found]) == (("agent_1",) if named else ())
    assert found.to_json()["deaf"] is named
    assert seeds >= FEWEST or not named


def test_a_world_that_shows_what_is_said_is_refused() -> None:
    with pytest.raises(NotApplicable, match="exchange hears what is said"):
        by_listening(Setup(env="exchange", agents=3))


def test_only_seeds_that_both_cells_have_are_compared() -> None:
    (found,) = listening(played(12), {"agent_1": {s: c for s, c in played(20).items() if s > 3}})
    assert found.changed.n == 8
