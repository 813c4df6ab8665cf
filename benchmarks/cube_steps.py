"""How fast CUBE steps: compiled batches, the vector environment, one step from Python, the first observation.

All on one thread but what says otherwise; medians over `REPEATS`. Random joint actions throughout. Rates are wall
time; beside them stands the same in the process's own CPU time, which another load on the machine disturbs less.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import Median, Timing, record, script, told
from benchmarks.vector_peers import spread_rate
from emcoop.core.seeds import Stream
from emcoop.envs.cube.batch import CubeBatch
from emcoop.envs.cube.env import make
from emcoop.rl import vector_env
from emcoop.rl.batch import processors

REPEATS = 7
BATCH_TARGET, LARGE_TARGET = 1_000_000, 20_000
STEP_TARGET_US = 25.0
WARM_TARGET_S, COLD_TARGET_S = 1.0, 3.0

FIRST_OBSERVATION = """
from emcoop.envs import ENVS
env = ENVS.get("{env}")(agents=3, level="hard")
state = env.reset(0)
print(env.describe(env.observe(state, "agent_0"))[:4])
"""
FIRST_STEP = FIRST_OBSERVATION + "env.step(state, dict.fromkeys(env.agents, {primitive}))\n"
PLAIN = """
from benchmarks.cube_steps import batch_rate
print(batch_rate(3, "hard", worlds=4, steps=300))
"""


Clock = Callable[[], float]


def median(measure: Callable[[], float]) -> float:
    """The middle one of `REPEATS` measurements, after one that warms up."""
    measure()
    return Median(measure() for _ in range(REPEATS))


def batch_rate(agents: int, level: str, worlds: int, steps: int, clock: Clock = time.perf_counter) -> float:
    """Team steps per second of a batch of worlds under random actions."""
    batch = CubeBatch(make(agents, level), range(4), worlds)

    def once() -> float:
        begun = clock()
        batch.play(steps)
        return worlds * steps / (clock() - begun)

    return median(once)


def vector_timing(
    name: str, num_envs: int, steps: int, most: int, clock: Clock = time.perf_counter, **options: Any
) -> Timing:
    """Team steps per second of a vector environment, three agents at hard, with observations, masks and autoreset.

    Actions are drawn beforehand, below `most`; every world has been played for a while, so that episodes end at
    different times.
    """
    envs = vector_env(name, num_envs=num_envs, agents=3, level="hard", starts=64, **options)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    joint = rng.integers(0, most, (50, num_envs, 3))

    def once() -> float:
        begun = clock()
        for k in range(steps):
            envs.step(joint[k % 50])
        return num_envs * steps / (clock() - begun)

    once()
    values = tuple(once() for _ in range(REPEATS))
    envs.close()
    return Timing(values)


def report_vector(name: str, most: int, steps: int, peer: tuple[str, float] | None, **options: Any) -> dict[str, float]:
    """The vector environment's figures: as it comes, without copies, without masks, on one thread."""
    threads = processors()
    every: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("vector", "", {}),
        ("vector_in_place", ", copy=False", {"copy": False}),
        ("vector_no_masks", ", copy=False, masks=False", {"copy": False, "masks": False}),
        ("vector_one_thread", ", copy=False, threads=1", {"copy": False, "threads": 1}),
        (
            "vector_cpu",
            ", copy=False, threads=1, in CPU time",
            {"copy": False, "threads": 1, "clock": time.process_time},
        ),
    )
    figures = {}
    for key, told_as, more in every:
        what = f"vector environment, 1,024 worlds, n=3{told_as or f', {threads} threads'}"
        timing = vector_timing(name, 1024, steps, most, **options, **more)
        beside = peer if key == "vector" else None
        figure = record(key, timing, "team steps/s", what=what, more_is_better=True, peer=beside)
        figures[key] = figure["value"]
        print(told(figure), flush=True)
    return figures


def step_us(steps: int = 4000, clock: Clock = time.perf_counter) -> float:
    """Microseconds of one `Cube.step` from Python, three agents at hard."""
    env = make(3, "hard", horizon=steps + 1)
    stream = Stream.named(0, "benchmark")
    joint = [{agent: stream.below(5) for agent in env.agents} for _ in range(steps)]

    def once() -> float:
        state = env.reset(0)
        begun = clock()
        for actions in joint:
            state = env.step(state, actions).state
        return (clock() - begun) / steps * 1e6

    return median(once)


def process(code: str, **environ: str) -> tuple[float, str]:
    """Wall seconds and output of a fresh Python process that runs this code."""
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environ}, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - begun, done.stdout.strip()


def start_seconds(code: str, *, cold: bool) -> float:
    """Wall seconds of a fresh process that runs this code, with or without compiled rules on disk."""

    def once() -> float:
        if not cold:
            return process(code)[0]
        with tempfile.TemporaryDirectory() as empty:
            return process(code, NUMBA_CACHE_DIR=empty)[0]

    return Median(once() for _ in range(3))


def report_starts(report: Callable[[str, float, str], None], env: str, primitive: int) -> None:
    """From nothing to the first observation, and to the first step with this primitive."""
    for name, code, cold, target in (
        ("warm_start_s", FIRST_OBSERVATION, False, WARM_TARGET_S),
        ("cold_start_s", FIRST_OBSERVATION, True, COLD_TARGET_S),
        ("warm_first_step_s", FIRST_STEP, False, None),
        ("cold_first_step_s", FIRST_STEP, True, None),
    ):
        seconds = start_seconds(code.format(env=env, primitive=primitive), cold=cold)
        what = "first step" if code is FIRST_STEP else "first observation"
        what += ", compile cache empty" if cold else ", compile cache warm"
        report(name, seconds, f"{what}: {seconds:.2f} s" + (f" (target under {target:.0f})" if target else ""))


PROFILES = {"step_us": lambda: step_us(1000)}


def main() -> dict[str, float]:
    """Print every figure beside its target and return them by name."""
    figures: dict[str, float] = {}

    def report(name: str, value: float, text: str) -> None:
        figures[name] = value
        print(text, flush=True)

    for agents, level, worlds, steps, rate_target in (
        (3, "hard", 64, 4000, BATCH_TARGET),
        (256, "curriculum", 2, 1500, LARGE_TARGET),
    ):
        rate = batch_rate(agents, level, worlds, steps)
        own = figures[f"batch_{agents}_cpu"] = batch_rate(agents, level, worlds, steps, time.process_time)
        text = f"batch, n={agents}, {level}: {rate:,.0f} team steps/s, {own:,.0f} in CPU time (target {rate_target:,})"
        report(f"batch_{agents}", rate, text)
    spread = ("Simple Spread (MPE), n=3, one world from Python", median(spread_rate))
    figures.update(report_vector("cube", 5, 100, spread))
    spent, own = step_us(), step_us(clock=time.process_time)
    figures["step_us_cpu"] = own
    text = f"one step from Python, n=3: {spent:.1f} us, {own:.1f} in CPU time (target under {STEP_TARGET_US:.0f})"
    report("step_us", spent, text)
    plain = float(process(PLAIN, EMCOOP_COMPILE="0")[1])
    ratio = figures["batch_3"] / plain
    report(
        "compiled_ratio", ratio, f"compiled rules: {ratio:,.0f} times the speed of uncompiled ({plain:,.0f} steps/s)"
    )
    report_starts(report, "cube", 4)
    return figures


if __name__ == "__main__":
    sys.exit(script(main))
