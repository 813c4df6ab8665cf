"""How cost grows with agents, map size, horizon and episodes, on CUBE and MA-Crafter: power laws and charts.

A team step is the compiled batch's, on one thread, per world; a decision is one of agents that stay silent and wait, in
the whole loop with everything logged. Costs are processor time, which other load on the machine disturbs less. The
charts go to docs/images/growth-*.svg.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.charts import Curve, panels
from benchmarks.common import ROOT, Timing, record, repeated, script
from emcoop.envs import ENVS
from emcoop.episode.loop import Limits
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.study import play_episode
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.rl.batch import batch_of

IMAGES = ROOT / "docs" / "images"
REPEATS = 3
MEMBERS, WORLDS = 192, 32
"""A batch has about so many agents in all its worlds together, and at most so many worlds."""

STARTS = 2
BATCH_S = 0.05
"""A batch is stepped for about so long."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One curve: `cost(size)` gives what measures the cost at this size."""

    name: str
    title: str
    against: str
    unit: str
    sizes: tuple[int, ...]
    cost: Callable[[int], Callable[[], float]]


def cube_level(folder: Path, side: int) -> str:
    """A level file: three blocks of weights 1, 2 and 3 on a map of this side."""
    path = folder / f"side{side}.yaml"
    path.write_text(f"side: {side}\nhorizon: 1000000\nweights: [1, 2, 3]\n", encoding="utf-8")
    return str(path)


def stepping(env: Any) -> Callable[[], float]:
    """Measures the microseconds of one world's team step in a compiled batch, under random primitives."""
    agents = len(env.agents)
    worlds = min(WORLDS, max(1, MEMBERS // agents))
    starts = [env.reset(seed) for seed in range(min(STARTS, worlds))]
    batch = batch_of(env, [starts[world % len(starts)] for world in range(worlds)])
    # Sharing and the like come last in every world's list; walking about is what grows.
    actions = np.random.default_rng(0).integers(0, 5, (16, worlds, agents))
    idle = np.zeros(worlds, np.bool_)

    def step_us() -> float:
        begun, steps = time.process_time(), 0
        while time.process_time() - begun < BATCH_S:
            batch.choose(actions[steps % 16])
            batch.advance(0, worlds, idle)
            steps += 1
        return (time.process_time() - begun) / (steps * worlds) * 1e6

    return step_us


def silent(env: str, level: str, agents: int, steps: int, topology: str = "decentralized", **options: Any) -> Setup:
    """A team that waits in silence for so many steps."""
    limits, team = Limits(max_steps=steps), (SeatConfig(agent="noop"),)
    return Setup(
        env=env, level=level, agents=agents, topology=topology, team=team, env_options=options, limits=limits
    )  # fmt: skip


def played(setup: Setup, seeds: range, folder: Path) -> tuple[float, int]:
    """Processor seconds to play these episodes into one new log, and the decisions in the first."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name) / "log.db"
        begun = time.process_time()
        with LogStore.open(path) as store:
            for seed in seeds:
                asyncio.run(play_episode(setup, seed, store, {}))
        spent = time.process_time() - begun
        with LogReader.open(path) as reader:
            return spent, reader.count(1, kinds=("decision",))


def deciding(setup: Setup, folder: Path) -> Callable[[], float]:
    """Measures the microseconds of one decision in the loop, without what the beginning of an episode takes."""
    short = setup.model_copy(update={"limits": Limits(max_steps=1)})

    def decision_us() -> float:
        (spent, decisions), (start, first) = (played(each, range(1), folder) for each in (setup, short))
        return (spent - start) / (decisions - first) * 1e6

    return decision_us


def starting(env: Any) -> Callable[[], float]:
    """Measures the milliseconds of making a world."""
    seeds = iter(range(10**6))

    def start_ms() -> float:
        begun = time.process_time()
        env.reset(next(seeds))
        return (time.process_time() - begun) * 1e3

    return start_ms


CRAFTER: Mapping[str, Any] = {"on_death": "respawn", "horizon": 1_000_000}


def step_scales(folder: Path) -> list[Scale]:
    """Team steps against agents and map size, and the making of a world."""

    def cube(agents: int, side: int) -> Callable[[], float]:
        return stepping(ENVS.get("cube")(agents=agents, level=cube_level(folder, side)))

    def crafter(agents: int, size: int) -> Callable[[], float]:
        return stepping(ENVS.get("ma-crafter")(agents=agents, level="hard", size=size, **CRAFTER))

    unit = "us per team step"
    agents, side, size = "agents", "side of the map", "side of the map"

    def making(size: int) -> Callable[[], float]:
        return starting(ENVS.get("ma-crafter")(agents=3, level="hard", size=size, **CRAFTER))

    return [
        Scale("cube_step_agents", "CUBE: team step", agents, unit, (2, 4, 8, 16, 32, 64, 128), lambda n: cube(n, 128)),
        Scale("cube_step_map", "CUBE: team step", side, unit, (8, 16, 32, 64, 128, 256, 512), lambda k: cube(3, k)),
        Scale(
            "crafter_step_agents", "MA-Crafter: team step", agents, unit, (1, 2, 4, 8, 16, 30), lambda n: crafter(n, 64)
        ),
        Scale(
            "crafter_step_map", "MA-Crafter: team step", size, unit, (32, 48, 64, 96, 128, 192), lambda k: crafter(3, k)
        ),
        Scale("crafter_reset_map", "MA-Crafter: making a world", size, "ms", (32, 48, 64, 96, 128, 192), making),
    ]


def loop_scales(folder: Path) -> list[Scale]:
    """One decision against agents and map size, an episode against its horizon, a run against its episodes."""
    unit = "us per decision"
    agents, side = "agents", "side of the map"

    def cube(n: int, k: int, steps: int = 20) -> Setup:
        return silent("cube", cube_level(folder, k), n, steps)

    def crafter(n: int, k: int, steps: int = 20) -> Setup:
        return silent("ma-crafter", "hard", n, steps, size=k, **CRAFTER)

    scales = [
        Scale(
            "cube_decision_agents", "CUBE: decision", agents, unit, (2, 4, 8, 16, 32, 64),
            lambda n: deciding(cube(n, 64, max(6, 120 // n)), folder),
        ),
        Scale(
            "cube_decision_map", "CUBE: decision", side, unit, (8, 16, 32, 64, 128),
            lambda k: deciding(cube(3, k), folder),
        ),
        Scale(
            "crafter_decision_agents", "MA-Crafter: decision", agents, unit, (1, 2, 4, 8, 16, 30),
            lambda n: deciding(crafter(n, 64, max(6, 45 // n)), folder),
        ),
        Scale(
            "crafter_decision_map", "MA-Crafter: decision", side, unit, (32, 48, 64, 96, 128),
            lambda k: deciding(crafter(3, k, 15), folder),
        ),
    ]  # fmt: skip
    for key, name, setup in (("cube", "CUBE", cube(3, 8)), ("crafter", "MA-Crafter", crafter(3, 64, 10))):

        def horizon(steps: int, setup: Setup = setup) -> Callable[[], float]:
            longer = setup.model_copy(update={"limits": Limits(max_steps=steps)})
            return lambda: played(longer, range(1), folder)[0]

        def episodes(count: int, setup: Setup = setup) -> Callable[[], float]:
            return lambda: played(setup, range(count), folder)[0]

        lengths = (20, 40, 80, 160, 320) if key == "cube" else (10, 20, 40, 80, 160)
        scales.append(Scale(f"{key}_horizon", f"{name}: an episode", "steps of the episode", "s", lengths, horizon))
        scales.append(Scale(f"{key}_episodes", f"{name}: a run", "episodes", "s", (1, 2, 4, 8), episodes))
    return scales


def fitted(scale: Scale, costs: tuple[Timing, ...]) -> Curve:
    """The power law through the medians, with the 95 % interval of its exponent (least squares on logarithms)."""
    from scipy.stats import linregress, t

    line = linregress(np.log(scale.sizes), np.log([cost.median for cost in costs]))
    half = float(t.ppf(0.975, len(costs) - 2) * line.stderr)
    exponent = float(line.slope)
    interval = exponent - half, exponent + half
    factor = float(np.exp(line.intercept))
    return Curve(scale.title, scale.against, scale.unit, scale.sizes, costs, exponent, factor, interval)


def steepness(curve: Curve) -> float:
    """The exponent between the two largest sizes, where fixed costs matter least."""
    (one, two), (a, b) = curve.sizes[-2:], curve.costs[-2:]
    return float(np.log(b.median / a.median) / np.log(two / one))


def measured(scale: Scale, image: str) -> Curve:
    """Measure, record and print one curve."""
    costs = tuple(repeated(scale.cost(size), REPEATS) for size in scale.sizes)
    curve = fitted(scale, costs)
    what = f"{scale.title}, {scale.unit}"
    record(
        scale.name, curve.exponent, "exponent", what=f"{what} against {scale.against}", cost=what,
        against=scale.against, interval=curve.interval, sizes=scale.sizes, image=image,
        points=[cost.median for cost in costs], last=steepness(curve),
    )  # fmt: skip
    points = ", ".join(f"{size}: {cost.median:.3g}" for size, cost in zip(scale.sizes, costs, strict=True))
    low, high = curve.interval
    law = f"size^{curve.exponent:.2f} [{low:.2f}, {high:.2f}]"
    print(f"{what} against {scale.against}: {law}, at last {steepness(curve):.2f} ({points})", flush=True)
    return curve


def main() -> dict[str, float]:
    """Measure all curves, write the charts, and return the exponents."""
    exponents: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        charts = (("steps", "Team steps", step_scales(folder)), ("loop", "The interaction loop", loop_scales(folder)))
        for key, title, scales in charts:
            image = f"growth-{key}.svg"
            curves = [measured(scale, f"images/{image}") for scale in scales]
            exponents |= {scale.name: curve.exponent for scale, curve in zip(scales, curves, strict=True)}
            IMAGES.mkdir(parents=True, exist_ok=True)
            (IMAGES / image).write_text(panels(curves, title), encoding="utf-8")
    return exponents


if __name__ == "__main__":
    sys.exit(script(main))
