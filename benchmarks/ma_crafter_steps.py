"""How fast MA-Crafter steps: batches, the vector environment, one step from Python, the first observation; and peers.

All on one thread but what says otherwise; medians over `REPEATS`. Random primitives throughout. Rates are wall time;
beside them stands the same in the process's own CPU time, which another load on the machine disturbs less.
"""

from __future__ import annotations

import sys
import time

from benchmarks.common import script
from benchmarks.cube_steps import Clock, median, process, report_starts, report_vector
from benchmarks.vector_peers import craftax_rate, crafter_vector_rate
from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter.batch import CrafterBatch
from emcoop.envs.ma_crafter.constants import SHARE
from emcoop.envs.ma_crafter.env import make
from emcoop.rl.batch import processors

BATCH_TARGET = 200_000
STEP_TARGET_US = 150.0

PLAIN = """
from benchmarks.ma_crafter_steps import batch_rate
print(batch_rate(worlds=1, steps=100))
"""


def batch_rate(worlds: int = 16, steps: int = 2000, clock: Clock = time.perf_counter) -> float:
    """Team steps per second of a batch of worlds, three agents at hard; what each agent sees is part of its state."""
    batch = CrafterBatch(make(3, "hard", on_death="respawn").tables, 3, range(4), worlds)

    def once() -> float:
        begun = clock()
        batch.play(steps)
        return worlds * steps / (clock() - begun)

    return median(once)


def step_us(*, constraints: bool, steps: int = 2000, clock: Clock = time.perf_counter) -> float:
    """Microseconds of one step from Python, three agents at hard, with or without the constraints of the same step."""
    env = make(3, "hard", on_death="respawn")
    stream = Stream.named(0, "benchmark")
    joint = [{agent: stream.below(SHARE) for agent in env.agents} for _ in range(steps)]

    def once() -> float:
        state = env.reset(0)
        begun = clock()
        for actions in joint:
            if constraints:
                env.constraints(state, actions)
            state = env.step(state, actions).state
        return (clock() - begun) / steps * 1e6

    return median(once)


def crafter_rate(steps: int = 300, clock: Clock = time.perf_counter) -> float:
    """Steps per second of Crafter 1.8.3 itself: one agent, with the pictures that are its observation."""
    import crafter

    env = crafter.Env(seed=0)
    stream = Stream.named(0, "benchmark")

    def once() -> float:
        env.reset()
        begun = clock()
        for _ in range(steps):
            if env.step(stream.below(17))[2]:
                env.reset()
        return steps / (clock() - begun)

    return median(once)


PROFILES = {"step_with_constraints_us": lambda: step_us(constraints=True, steps=500)}


def main() -> dict[str, float]:
    """Print every figure beside its target and return them by name."""
    figures: dict[str, float] = {}

    def report(name: str, value: float, text: str) -> None:
        figures[name] = value
        print(text, flush=True)

    rate = batch_rate()
    own = figures["batch_3_cpu"] = batch_rate(clock=time.process_time)
    text = f"batch, n=3, hard: {rate:,.0f} team steps/s, {own:,.0f} in CPU time (target {BATCH_TARGET:,})"
    report("batch_3", rate, text)
    theirs = crafter_rate()
    report("crafter", theirs, f"crafter itself, one agent, with its pictures: {theirs:,.0f} steps/s")
    workers = processors()
    asynchronous = crafter_vector_rate(workers)
    report(
        "crafter_vector", asynchronous, f"crafter in AsyncVectorEnv, {workers} processes: {asynchronous:,.0f} steps/s"
    )
    figures.update(
        report_vector("ma-crafter", SHARE, 20, ("Crafter in AsyncVectorEnv, n=1", asynchronous), on_death="respawn")
    )
    jax = craftax_rate()
    if jax is None:
        print("craftax is not installed, in the Python that EMCOOP_BENCH_PEERS_PYTHON names or in this one", flush=True)
    else:
        report("craftax", jax, f"Craftax-Classic, symbolic, one agent, 256 worlds, JAX on this CPU: {jax:,.0f} steps/s")
    for name, constraints in (("step_us", False), ("step_with_constraints_us", True)):
        spent = step_us(constraints=constraints)
        own = figures[f"{name}_cpu"] = step_us(constraints=constraints, clock=time.process_time)
        what = "one step from Python, n=3" + (", with constraints" if constraints else "")
        aim = f" (target under {STEP_TARGET_US:.0f})" if constraints else ""
        report(name, spent, f"{what}: {spent:.1f} us, {own:.1f} in CPU time{aim}")
    plain = float(process(PLAIN, EMCOOP_COMPILE="0")[1])
    ratio = figures["batch_3"] / plain
    report("compiled_ratio", ratio, f"compiled rules: {ratio:,.0f} times uncompiled ({plain:,.0f} steps/s)")
    report_starts(report, "ma-crafter", 1)
    return figures


if __name__ == "__main__":
    sys.exit(script(main))
