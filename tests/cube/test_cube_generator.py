"""Initial states: spacing, weights, places, and what cannot be set up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from emcoop.core.errors import ConfigError
from emcoop.envs.cube.env import make
from emcoop.envs.cube.state import CubeState, to_bytes

LEVELS = {"easy": [1, 1, 1], "medium": [1, 1, 2], "hard": [1, 2, 3]}
SIZES = [1, 2, 3, 5, 8, 20, 64, 256]


def check_layout(state: CubeState) -> None:
    """Blocks touch no wall and no other block, not even by a corner; agents stand opposite the goal."""
    side = state.side
    owner = np.full((side + 2, side + 2), -1)
    for b, (row, col, weight) in enumerate(state.blocks.tolist()):
        assert row >= 1
        assert row + weight <= side - 1
        assert col >= 1
        assert col + weight <= side - 1
        around = owner[row : row + weight + 2, col : col + weight + 2]
        assert (around == -1).all(), f"block {b} touches another"
        owner[row + 1 : row + weight + 1, col + 1 : col + weight + 1] = b
    assert (state.agents[:, 1] == 0).all()
    assert len({tuple(place) for place in state.agents.tolist()}) == len(state.agents)
    assert state.alive.all()
    assert state.step == 0


@pytest.mark.parametrize("agents", range(1, 9))
@pytest.mark.parametrize("level", LEVELS)
def test_levels_have_their_weights_and_their_spacing_at_every_size_of_team(level: str, agents: int) -> None:
    env = make(agents, level)
    for seed in range(25):
        state = env.reset(seed)
        assert (state.side, len(state.agents)) == (8, agents)
        assert sorted(state.blocks[:, 2].tolist()) == LEVELS[level]
        check_layout(state)


@pytest.mark.parametrize("agents", SIZES)
def test_the_curriculum_follows_from_the_number_of_agents(agents: int) -> None:
    env = make(agents, "curriculum")
    state = env.reset(1)
    assert state.side == max(20, agents)
    check_layout(state)
    weights = Counter(state.blocks[:, 2].tolist())
    assert max(weights) == agents // 2 + 1
    assert min(weights) >= 1
    assert env.impossible is None
    assert to_bytes(make(agents, "curriculum").reset(1)) == to_bytes(state)
    assert to_bytes(env.reset(2)) != to_bytes(state)


def test_the_curriculum_reaches_a_thousand_agents() -> None:
    state = make(1000, "curriculum").reset(0)
    assert (state.side, len(state.agents), state.blocks[:, 2].max()) == (1000, 1000, 501)
    check_layout(state)


def test_light_blocks_are_more_frequent_than_heavy_ones() -> None:
    counts = Counter(weight for seed in range(20) for weight in make(8, "curriculum").reset(seed).blocks[:, 2].tolist())
    assert counts[1] > counts[2] > counts[3]
    assert all(counts[weight] > 0 for weight in range(1, 6))


@pytest.mark.parametrize(("agents", "level", "heaviest"), [(2, "hard", 3), (1, "hard", 3), (1, "medium", 2)])
def test_a_block_heavier_than_the_team_is_said_at_the_start(agents: int, level: str, heaviest: int) -> None:
    said = make(agents, level).impossible
    assert said is not None
    assert f"weight {heaviest}" in said


@pytest.mark.parametrize(("agents", "level"), [(3, "hard"), (2, "medium"), (1, "easy"), (8, "hard"), (1, "curriculum")])
def test_a_team_that_is_strong_enough_is_not_called_impossible(agents: int, level: str) -> None:
    assert make(agents, level).impossible is None


def test_blocks_that_do_not_fit_are_refused_when_the_world_is_made(tmp_path: Path) -> None:
    path = tmp_path / "full.yaml"
    path.write_text("side: 8\nweights: [3, 3, 3, 3]")
    with pytest.raises(ConfigError, match="do not fit"):
        make(3, str(path))
