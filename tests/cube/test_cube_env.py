"""CUBE through its environment: rewards, ends, purity, sameness in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cube_maps import ACTIONS, parse
from cube_play import digest

from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.envs.cube.env import Cube, make
from emcoop.envs.cube.state import CubeState, from_bytes, to_bytes

PLAY = Path(__file__).with_name("cube_play.py")


def joint(env: Cube, letters: str) -> dict[str, int]:
    return {agent: ACTIONS[letter] for agent, letter in zip(env.agents, letters, strict=True)}


def scenario(folder: Path, text: str, horizon: int = 50) -> tuple[Cube, CubeState]:
    """The world of a map, by way of a scenario file."""
    drawn = parse(text)
    lines = [f"side: {drawn.side}", f"horizon: {horizon}", f"agents: {drawn.agents.tolist()}", "blocks:"]
    lines += [f"  - {{row: {r}, col: {c}, weight: {w}}}" for r, c, w in drawn.blocks.tolist()]
    path = folder / "map.yaml"
    path.write_text("\n".join(lines))
    env = make(len(drawn.agents), str(path))
    state = env.reset(0)
    assert to_bytes(state) == to_bytes(drawn)
    return env, state


def test_every_agent_pays_one_cent_a_step_and_delivered_weight_is_split(tmp_path: Path) -> None:
    env, state = scenario(tmp_path, "......\nabAA..\n..AA..\n......\n......\n....B.")
    first = env.step(state, joint(env, "RR"))
    assert first.rewards == {"agent_0": -0.01, "agent_1": -0.01}
    second = env.step(first.state, joint(env, "RR"))
    assert second.rewards == {"agent_0": pytest.approx(2 / 2 - 0.01), "agent_1": pytest.approx(2 / 2 - 0.01)}
    assert {"kind": "delivered", "block": 0, "weight": 2} in second.events
    assert not second.terminated
    assert not second.truncated
    assert env.score(second.state).progress == pytest.approx(2 / 3)


def test_delivering_the_last_block_terminates_with_success(tmp_path: Path) -> None:
    env, state = scenario(tmp_path, "....\n.aA.\n....\n....", horizon=1)
    end = env.step(state, joint(env, "R"))
    assert (end.terminated, end.truncated) == (True, False)
    assert (env.score(end.state).success, env.score(end.state).progress) == (True, 1.0)
    assert env.tasks(end.state) == ()


def test_the_horizon_truncates_without_success(tmp_path: Path) -> None:
    env, state = scenario(tmp_path, "....\na.A.\n....\n....", horizon=2)
    first = env.step(state, joint(env, "."))
    assert (first.terminated, first.truncated) == (False, False)
    second = env.step(first.state, joint(env, "."))
    assert (second.terminated, second.truncated) == (False, True)
    assert (env.score(second.state).success, env.score(second.state).progress) == (False, 0.0)


@pytest.mark.parametrize(("agents", "level"), [(1, "easy"), (3, "hard"), (5, "medium"), (6, "curriculum")])
def test_random_play_is_sound_and_leaves_its_input_alone(agents: int, level: str) -> None:
    env = make(agents, level, horizon=300)
    stream = Stream.named(agents, "test")
    for seed in range(3):
        state = env.reset(seed)
        total = int(state.blocks[:, 2].sum())
        delivered = 0.0
        for _ in range(120):
            way = stream.below(5)
            actions = {a: way if stream.below(2) else stream.below(5) for a in env.agents}
            before, arrays = to_bytes(state), [a.copy() for a in (state.grid, state.agents, state.blocks)]
            transition = env.step(state, actions)
            assert to_bytes(state) == before
            assert all(
                np.array_equal(a, b) for a, b in zip(arrays, (state.grid, state.agents, state.blocks), strict=True)
            )
            state = transition.state
            repainted = from_bytes(to_bytes(state))
            assert np.array_equal(repainted.grid, state.grid)
            assert to_bytes(env.restore(env.snapshot(state))) == env.snapshot(state)
            delivered += sum(transition.rewards.values()) + 0.01 * agents
            alive = int(state.blocks[state.alive == 1, 2].sum())
            assert round(delivered) + alive == total
            if transition.terminated:
                break


def run_play(*arguments: object, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, str(PLAY), *map(str, arguments)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("hashing", ["1", "4242"])
def test_a_seed_names_one_play_in_any_process(hashing: str) -> None:
    assert run_play(3, "hard", 5, 200, PYTHONHASHSEED=hashing) == digest(3, "hard", 5, 200)


def test_compiled_and_uncompiled_rules_play_the_same() -> None:
    assert run_play(4, "hard", 2, 300, EMCOOP_COMPILE="0") == digest(4, "hard", 2, 300)


def test_seeds_differ_and_repeat() -> None:
    env = make(3, "hard")
    starts = [to_bytes(env.reset(seed)) for seed in range(30)]
    assert len(set(starts)) == 30
    assert starts == [to_bytes(make(3, "hard").reset(seed)) for seed in range(30)]


def test_observation_arrays_show_the_five_channels(tmp_path: Path) -> None:
    env, state = scenario(tmp_path, ".....\n..AA.\n.bAA.\n.a...\n.....")
    seen = env.array(state, "agent_0")
    assert seen.shape == (5, 5, 5)
    assert seen.dtype == np.float32
    assert (seen[3, 1, 0], seen[2, 1, 0], seen[..., 0].sum()) == (1, 1, 2)
    assert seen[..., 1].tolist()[1] == [0, 0, 2, 2, 0]
    assert (seen[:, 4, 2].tolist(), seen[..., 2].sum()) == ([1] * 5, 5)
    assert (seen[3, 1, 3], seen[2, 1, 3]) == (1, 2)
    assert (seen[1, 2, 4], seen[..., 4].sum()) == (1, 4)


def test_the_symbolic_observation_says_where_everything_is(tmp_path: Path) -> None:
    env, state = scenario(tmp_path, "......\n..AA..\n.bAA..\n.a....\n......\n......")
    seen = env.observe(state, "agent_0").model_dump()
    assert [(a["id"], a["row"], a["col"]) for a in seen["agents"]] == [("agent_0", 3, 1), ("agent_1", 2, 1)]
    assert seen["blocks"][0] | {"faces": None} == {
        "id": 0,
        "weight": 2,
        "row": 1,
        "col": 2,
        "distance": 2,
        "faces": None,
    }
    assert {side: list(who) for side, who in seen["blocks"][0]["faces"].items()} == {"left": ["agent_1"]}
    text = env.describe(env.observe(state, "agent_0"))
    for part in (
        "(row 3, col 1)",
        "agent_1 (2, 1)",
        "block 0",
        "weight 2",
        "top-left (1, 2)",
        "agent_1 at its left face",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("agents", "level", "options", "says"),
    [
        (0, "easy", {}, "at least one agent"),
        (3, "hardd", {}, "hard"),
        (9, "easy", {}, "9 agents do not fit"),
        (3, "easy", {"horizn": 5}, "horizon"),
        (3, "easy", {"horizon": 0}, "horizon"),
        (3, "no-such.yaml", {}, "no such file"),
    ],
)
def test_bad_parameters_are_refused_with_a_hint(agents: int, level: str, options: dict[str, int], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        make(agents, level, **options)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("side: 6\nblocks: [{row: 1, col: 1, weight: 1}]\nagents: [[1, 1]]", "another body"),
        ("side: 6\nblocks: [{row: 1, col: 5, weight: 1}]", "goal column"),
        ("side: 6\nblocks: [{row: 1, col: 1, weight: 2}, {row: 2, col: 2, weight: 1}]", "overlaps"),
        ("side: 6\nblocks: []", "at least one block"),
        ("side: 6\nweights: [1]\ncurriculum: true", "exactly one"),
        ("side: 6\nweights: [0]", "1 or more"),
        ("side: 6\nwieghts: [1]", "weights"),
        ("side: 6\nblocks: [{row: 1, col: 1, weight: 1}]\nagents: [[0, 0], [1, 0]]", "places 2 agents, not 1"),
        ("side: [", "not valid YAML"),
    ],
)
def test_bad_scenarios_are_refused_with_the_reason(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        make(1, str(path))


def test_snapshots_of_something_else_are_refused() -> None:
    env = make(2, "easy")
    data = env.snapshot(env.reset(0))
    for bad in (b"", b"CUBE1\0\0\0", data[:-1], data[:-4], b"X" + data[1:], data + b"\0\0\0\0"):
        with pytest.raises(ValueError):
            env.restore(bad)
    with pytest.raises(ValueError, match="agents"):
        make(3, "easy").restore(data)


def test_a_damaged_snapshot_is_refused_or_still_a_sound_state() -> None:
    env = make(3, "hard")
    state = env.reset(0)
    for _ in range(5):
        state = env.step(state, dict.fromkeys(env.agents, 4)).state
    numbers = np.frombuffer(env.snapshot(state), "<i4")
    stream, refused = Stream.named(1, "test"), 0
    for _ in range(400):
        damaged = numbers.copy()
        # The first two words are the mark, the third the side; the rest is the step, the counts and the bodies.
        damaged[3 + stream.below(len(damaged) - 3)] = stream.below(12) - 2
        try:
            again = env.restore(damaged.tobytes())
        except ValueError:
            refused += 1
            continue
        assert env.snapshot(again) == damaged.tobytes()
        for agent in env.agents:
            env.describe(env.observe(again, agent))
        if again.alive.any():
            env.step(again, dict.fromkeys(env.agents, 4))
    assert 50 < refused < 400
