"""What the measure of cacheable prompts counts."""

from __future__ import annotations

from benchmarks.prompt_prefix import cacheable, play, setup_of
from hypothesis import given
from hypothesis import strategies as st


def common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


@given(st.lists(st.lists(st.integers(0, 2), max_size=6).map(tuple), max_size=8))
def test_the_cacheable_part_is_the_longest_prefix_shared_with_any_earlier_prompt(
    prompts: list[tuple[int, ...]],
) -> None:
    slowly = [max((common(p, q) for q in prompts[:i]), default=0) for i, p in enumerate(prompts)]
    assert cacheable(prompts) == slowly


def test_an_episode_of_model_agents_is_played_as_the_scripted_team_plays_it() -> None:
    setup = setup_of("cube", "decentralized", level="easy", steps=8)
    found = play(setup, 0, lambda text: tuple(text.encode()))
    assert {asked.agent for asked in found.asked} == {"agent_0", "agent_1", "agent_2"}
    assert {"plan", "speak"} <= {asked.faculty for asked in found.asked}
    assert found.bytes > 0
    assert sum(found.rooms.values()) > 0
    first = {agent: next(a for a in found.asked if a.agent == agent) for agent in ("agent_0", "agent_1", "agent_2")}
    assert all(asked.cached == 0 for asked in first.values())


def test_later_prompts_of_an_agent_repeat_most_of_what_it_sent_before() -> None:
    found = play(setup_of("cube", "debate", steps=30), 0, lambda text: tuple(text.encode()))
    later = [asked for asked in found.asked if asked.cached]
    assert len(later) == len(found.asked) - 3
    assert sum(asked.cached for asked in later) > 0.7 * sum(asked.tokens for asked in later)
