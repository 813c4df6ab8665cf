"""How often planted causes are named, and healthy teams accused, by the analyses on real scripted teams.

    python benchmarks/alarms.py [--experiments 5] [--seeds 16] [--out FOLDER]

Each experiment is a screen (every faculty of every seat given to the oracle, alone) on fresh seeds of its own. The null
cases: healthy teams; healthy teams against draws from their own episodes (so that outcomes vary and no swap can help);
and the model of equation 14 on real windows whose labels were shuffled. Rates come with n and Wilson's interval.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from emcoop.analysis.cells import EpisodeRecord, read_record
from emcoop.analysis.decomposition import culprit, outcomes, single_effects
from emcoop.analysis.prediction import Sample, predict, samples
from emcoop.analysis.stats import rate
from emcoop.core.seeds import Stream
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.factorial import Coalition, screen
from emcoop.experiment.study import Study, log_path, play
from emcoop.interventions import apply
from emcoop.log.reader import LogReader
from emcoop.metrics import Trace
from emcoop.metrics.trace import KINDS

FIRST_SEED = 20_000
"""No policy and no analysis was made by looking at seeds from here on; the number of seeds was (docs/analyses.md)."""

PLANTED = {
    "silent leader (mute@0)": (("mute@0",), "agent_0.speak"),
    "deaf follower (deaf@1)": (("deaf@1",), "agent_1.plan"),
    "incompetent follower (incompetent@2)": (("incompetent@2",), "agent_2.plan"),
    "adversarial follower (adversary@1)": (("adversary@1",), "agent_1.plan"),
}
HEALTHY = ("centralized", "decentralized", "debate")
FACTORS = 12


def team(topology: str, *names: str) -> Setup:
    """Three scripted agents in CUBE's hard level."""
    base = Setup(env="cube", level="hard", agents=3, topology=topology, team=(SeatConfig(),))
    return apply(base, names)


def records(folder: Path, cells: Sequence[Setup], seeds: Sequence[int]) -> list[EpisodeRecord]:
    """The episodes of these cells and seeds, played where they are not yet."""
    errors = asyncio.run(play(Study(cells=tuple(cells), seeds=tuple(seeds)), folder, jobs=4))
    if errors:
        raise SystemExit(errors[0])
    wanted = {cell.cell for cell in cells}
    with LogReader.open(log_path(folder)) as reader:
        return [read_record(reader, row) for row in reader.episodes() if row.cell in wanted and row.seed in set(seeds)]


def named(found: Sequence[EpisodeRecord], cells: dict[Coalition, str], seeds: Sequence[int], metric: str) -> str | None:
    """Whom a screen on these seeds names."""
    mine = [record for record in found if record.seed in seeds]
    effect = culprit(single_effects(outcomes(mine, cells, metric, lower_is_better=metric == "steps")))
    return effect.factors[0] if effect else None


def told(what: str, hits: int, n: int) -> str:
    """One line: a rate with its interval."""
    found = rate(hits, n)
    return f"{what}: {hits} of {n} = {found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


def screens(folder: Path, setup: Setup, experiments: int, seeds: int) -> list[str | None]:
    """Whom each of several screens names, each on seeds of its own."""
    design = screen(setup)
    every = range(FIRST_SEED, FIRST_SEED + experiments * seeds)
    found = records(folder, design.setups(), every)
    cells = {coalition: cell.cell for coalition, cell in design.cells.items()}
    return [named(found, cells, every[i * seeds : (i + 1) * seeds], "progress") for i in range(experiments)]


def against_itself(folder: Path, setup: Setup, experiments: int, seeds: int, pool: int) -> int:
    """In how many screens a team is accused whose 'swaps' are itself: every value is drawn from its episodes' steps."""
    every = range(FIRST_SEED, FIRST_SEED + pool)
    found = records(folder, [setup], every)
    steps = [float(r.metrics["steps"] or 0) for r in found if r.cell == setup.cell and r.seed in every]
    accused = 0
    for experiment in range(experiments):
        stream = Stream.named(experiment, "against itself")
        coalitions = [frozenset[str](), *(frozenset({f"factor {i}"}) for i in range(FACTORS))]
        values = {c: {i: -steps[stream.below(len(steps))] for i in range(seeds)} for c in coalitions}
        accused += culprit(single_effects(values)) is not None
    return accused


def shuffled(folder: Path, setup: Setup, experiments: int, seeds: int) -> tuple[int, int]:
    """In how many models of equation 14, of how many, the window seems to tell what was shuffled over all windows."""
    every = range(FIRST_SEED, FIRST_SEED + seeds)
    records(folder, [setup], every)
    found: list[Sample] = []
    with LogReader.open(log_path(folder)) as reader:
        for row in reader.episodes():
            if row.cell == setup.cell and row.seed in every:
                found += samples(Trace.build(reader.events(row.id, kinds=KINDS)), row.seed)
    alarms = 0
    for experiment in range(experiments):
        stream = Stream.named(experiment, "shuffled")
        labels = [sample.violated for sample in found]
        for i in range(len(labels) - 1, 0, -1):
            j = stream.below(i + 1)
            labels[i], labels[j] = labels[j], labels[i]
        mixed = [Sample(s.seed, s.features, label) for s, label in zip(found, labels, strict=True)]
        alarms += (predict(mixed).gain.low or 0.0) > 0
    return alarms, experiments


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    folder = chosen.out or Path(tempfile.mkdtemp(prefix="alarms-"))
    k, n = chosen.experiments, chosen.seeds
    print(f"screens of {FACTORS} factors, {n} seeds each, CUBE hard, 3 scripted agents", flush=True)
    for topology in HEALTHY:
        found = screens(folder, team(topology), k, n)
        print(told(f"healthy {topology} team accused", sum(name is not None for name in found), k))
    for topology in HEALTHY:
        accused = against_itself(folder, team(topology), 20 * k, n, k * n)
        print(told(f"{topology} team accused against itself, by steps", accused, 20 * k))
    for topology in HEALTHY:
        print(told(f"{topology}: shuffled windows seem to tell", *shuffled(folder, team(topology), 4 * k, 2 * n)))
    for what, (names, expected) in PLANTED.items():
        found = screens(folder, team("centralized", *names), k, n)
        seat = sum(name is not None and name.partition(".")[0] == expected.partition(".")[0] for name in found)
        print(told(f"{what}: its seat is named", seat, k))
        print(told(f"{what}: {expected} is named", sum(name == expected for name in found), k))


if __name__ == "__main__":
    main()
