"""How fast CUBE steps: compiled batches, one step from Python, and the time to the first observation.

All on one thread; medians over `REPEATS`. Random joint actions throughout. Rates are wall time; beside them stands
the same in the process's own CPU time, which another load on the machine disturbs less.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from emcoop.core.seeds import Stream
from emcoop.envs.cube.batch import CubeBatch
from emcoop.envs.cube.env import make

REPEATS = 7
BATCH_TARGET, LARGE_TARGET = 1_000_000, 20_000
STEP_TARGET_US = 25.0
WARM_TARGET_S, COLD_TARGET_S = 1.0, 3.0

FIRST_OBSERVATION = """
from emcoop.envs import ENVS
env = ENVS.get("cube")(agents=3, level="hard")
state = env.reset(0)
print(env.describe(env.observe(state, "agent_0"))[:4])
"""
FIRST_STEP = FIRST_OBSERVATION + "env.step(state, dict.fromkeys(env.agents, 4))\n"
PLAIN = """
from benchmarks.cube_steps import batch_rate
print(batch_rate(3, "hard", worlds=4, steps=300))
"""


Clock = Callable[[], float]


def median(measure: Callable[[], float]) -> float:
    """The middle one of `REPEATS` measurements, after one that warms up."""
    measure()
    return statistics.median(measure() for _ in range(REPEATS))


def batch_rate(agents: int, level: str, worlds: int, steps: int, clock: Clock = time.perf_counter) -> float:
    """Team steps per second of a batch of worlds under random actions."""
    batch = CubeBatch(make(agents, level), range(4), worlds)

    def once() -> float:
        begun = clock()
        batch.play(steps)
        return worlds * steps / (clock() - begun)

    return median(once)


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

    return statistics.median(once() for _ in range(3))


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
    spent, own = step_us(), step_us(clock=time.process_time)
    figures["step_us_cpu"] = own
    text = f"one step from Python, n=3: {spent:.1f} us, {own:.1f} in CPU time (target under {STEP_TARGET_US:.0f})"
    report("step_us", spent, text)
    plain = float(process(PLAIN, EMCOOP_COMPILE="0")[1])
    ratio = figures["batch_3"] / plain
    report(
        "compiled_ratio", ratio, f"compiled rules: {ratio:,.0f} times the speed of uncompiled ({plain:,.0f} steps/s)"
    )
    for name, code, cold, target in (
        ("warm_start_s", FIRST_OBSERVATION, False, WARM_TARGET_S),
        ("cold_start_s", FIRST_OBSERVATION, True, COLD_TARGET_S),
        ("warm_first_step_s", FIRST_STEP, False, None),
        ("cold_first_step_s", FIRST_STEP, True, None),
    ):
        seconds = start_seconds(code, cold=cold)
        what = "first step" if code is FIRST_STEP else "first observation"
        what += ", compile cache empty" if cold else ", compile cache warm"
        report(name, seconds, f"{what}: {seconds:.2f} s" + (f" (target under {target:.0f})" if target else ""))
    return figures


if __name__ == "__main__":
    main()
