"""How often planted causes are named, and healthy teams accused, by the analyses on real scripted teams.

    python -m benchmarks.alarms [--experiments 10] [--seeds 16] [--out FOLDER]
    python -m benchmarks.alarms --table

Each experiment has fresh seeds of its own and asks three questions of every team: a screen (every faculty of every seat
given to the oracle, alone) judged by progress, the same screen judged by steps, and who does not listen (every seat
made deaf, alone). The null cases beside the healthy teams: healthy teams against draws from their own episodes (so that
outcomes vary and no swap can help); and the model of equation 14 on real windows whose labels were shuffled. Rates come
with n and Wilson's interval, and are kept in benchmarks/results/alarms.json as they come.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common import begin, read, results_folder, write
from emcoop.analysis.cells import EpisodeRecord, read_record
from emcoop.analysis.decomposition import culprit, outcomes, single_effects
from emcoop.analysis.listening import KINDS as LISTENING_KINDS
from emcoop.analysis.listening import conduct, deaf_seats, listening
from emcoop.analysis.prediction import Sample, predict, samples
from emcoop.analysis.stats import rate
from emcoop.core.seeds import Stream
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.experiment.factorial import Design, by_listening, by_seat, screen
from emcoop.experiment.study import Study, log_path, play
from emcoop.interventions import apply
from emcoop.log.reader import LogReader
from emcoop.metrics import Trace
from emcoop.metrics.trace import KINDS

FIRST_SEED = 30_000
"""No policy and no analysis was made by looking at seeds from here on. (Those from 20,000 settled the number of seeds,
those from 100 to 163 the question about listening and the outcome `steps`.)"""

FACTORS = 12
HEALTHY = ("centralized", "decentralized", "debate")
BOTH = ("progress", "steps")


@dataclass(frozen=True)
class Truth:
    """A team with what is wrong with it: `seat` and `faculty` that a screen should name, None for a healthy team.

    `whole` asks for the seat as a whole, too; `deaf` is the seat that does not listen.
    """

    name: str
    setup: Setup
    seat: str | None = None
    faculty: str | None = None
    whole: bool = False
    deaf: str | None = None


def team(topology: str, *names: str) -> Setup:
    """Three scripted agents in CUBE's hard level."""
    base = Setup(env="cube", level="hard", agents=3, topology=topology, team=(SeatConfig(),))
    return apply(base, names)


def truths() -> tuple[Truth, ...]:
    """The planted causes, then the healthy teams."""

    def planted(what: str, name: str, faculty: str, *, whole: bool = False, deaf: bool = False) -> Truth:
        seat = f"agent_{name[-1]}"
        return Truth(f"{what} ({name})", team("centralized", name), seat, faculty, whole, seat if deaf else None)

    return (
        planted("silent leader", "mute@0", "speak"),
        planted("deaf follower", "deaf@1", "plan", deaf=True),
        planted("incompetent follower", "incompetent@2", "plan"),
        planted("adversarial follower", "adversary@1", "plan"),
        planted("adversarial leader", "adversary@0", "plan", whole=True),
        *(Truth(f"healthy {topology} team", team(topology)) for topology in HEALTHY),
    )


@dataclass
class Tally:
    """Hits and trials of every rate so far, in the order in which they were first asked."""

    counts: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def add(self, truth: str, what: str, hit: bool) -> None:
        """One trial."""
        hits, n = self.counts.get((truth, what), (0, 0))
        self.counts[truth, what] = hits + hit, n + 1

    def rows(self) -> list[dict[str, Any]]:
        """Every rate with Wilson's interval."""
        found = []
        for (truth, what), (hits, n) in self.counts.items():
            share = rate(hits, n)
            row = {"truth": truth, "what": what, "hits": hits, "n": n}
            found.append(row | {"rate": share.mean, "low": share.low, "high": share.high})
        return found


def records(folder: Path, cells: Sequence[Setup], seeds: Sequence[int]) -> list[EpisodeRecord]:
    """The episodes of these cells and seeds, played where they are not yet."""
    errors = asyncio.run(play(Study(cells=tuple(cells), seeds=tuple(seeds)), folder, jobs=4))
    if errors:
        raise SystemExit(errors[0])
    wanted, asked = {cell.cell for cell in cells}, set(seeds)
    with LogReader.open(log_path(folder)) as reader:
        return [read_record(reader, row) for row in reader.episodes() if row.cell in wanted and row.seed in asked]


def named(folder: Path, design: Design, seeds: Sequence[int]) -> dict[str, str | None]:
    """The factor that single swaps name on these seeds, by each of BOTH outcomes."""
    cells = {coalition: cell.cell for coalition, cell in design.cells.items()}
    found = records(folder, design.setups(), seeds)
    effects = {m: culprit(single_effects(outcomes(found, cells, m, lower_is_better=m == "steps"))) for m in BOTH}
    return {metric: effect.factors[0] if effect else None for metric, effect in effects.items()}


def unheard(folder: Path, setup: Setup, seeds: Sequence[int]) -> tuple[str, ...]:
    """The seats that do not listen, by these seeds."""
    design = by_listening(setup)
    records(folder, design.setups(), seeds)
    agents = {cell.cell: next(iter(coalition), "") for coalition, cell in design.cells.items()}
    found: dict[str, dict[int, Any]] = {agent: {} for agent in agents.values()}
    with LogReader.open(log_path(folder)) as reader:
        for row in reader.episodes():
            if row.cell in agents and row.seed in seeds:
                found[agents[row.cell]][row.seed] = conduct(reader.events(row.id, kinds=LISTENING_KINDS))
    untouched = found.pop("")
    return deaf_seats(listening(untouched, found))


def judge(folder: Path, truth: Truth, seeds: Sequence[int], tally: Tally) -> None:
    """One experiment with one team."""
    expected = f"{truth.seat}.{truth.faculty}"
    for metric, found in named(folder, screen(truth.setup), seeds).items():
        if truth.seat is None:
            tally.add(truth.name, f"accused, by {metric}", found is not None)
            continue
        seat = found.partition(".")[0] if found else None
        tally.add(truth.name, f"{expected} named, by {metric}", found == expected)
        tally.add(truth.name, f"its seat named, by {metric}", seat == truth.seat)
        tally.add(truth.name, f"another seat named, by {metric}", seat not in (None, truth.seat))
    if truth.whole:
        for metric, found in named(folder, by_seat(truth.setup, extent="single"), seeds).items():
            tally.add(truth.name, f"{truth.seat} named as a whole, by {metric}", found == truth.seat)
            tally.add(truth.name, f"another seat named as a whole, by {metric}", found not in (None, truth.seat))
    deaf = unheard(folder, truth.setup, seeds)
    if truth.deaf is not None:
        tally.add(truth.name, f"{truth.deaf} does not listen", truth.deaf in deaf)
    tally.add(truth.name, "said not to listen, wrongly", any(agent != truth.deaf for agent in deaf))


def against_itself(folder: Path, topology: str, experiments: int, seeds: int, pool: int, tally: Tally) -> None:
    """Screens of a team whose 'swaps' are itself: every value is drawn from its episodes' steps."""
    setup = team(topology)
    found = records(folder, [setup], range(FIRST_SEED, FIRST_SEED + pool))
    steps = [float(r.metrics["steps"] or 0) for r in found]
    for experiment in range(experiments):
        stream = Stream.named(experiment, "against itself")
        coalitions = [frozenset[str](), *(frozenset({f"factor {i}"}) for i in range(FACTORS))]
        values = {c: {i: -steps[stream.below(len(steps))] for i in range(seeds)} for c in coalitions}
        accused = culprit(single_effects(values)) is not None
        tally.add(f"healthy {topology} team", "accused against its own episodes, by steps", accused)


def shuffled(folder: Path, topology: str, experiments: int, seeds: int, tally: Tally) -> None:
    """Models of equation 14 whose windows cannot tell, since the labels were shuffled over all windows."""
    setup, every = team(topology), range(FIRST_SEED, FIRST_SEED + seeds)
    records(folder, [setup], every)
    found: list[Sample] = []
    with LogReader.open(log_path(folder)) as reader:
        for row in reader.episodes():
            if row.cell == setup.cell and row.seed in every:
                found += samples(Trace.build(reader.events(row.id, kinds=KINDS)), row.seed)
    for experiment in range(experiments):
        stream = Stream.named(experiment, "shuffled")
        labels = [sample.violated for sample in found]
        for i in range(len(labels) - 1, 0, -1):
            j = stream.below(i + 1)
            labels[i], labels[j] = labels[j], labels[i]
        mixed = [Sample(s.seed, s.features, label) for s, label in zip(found, labels, strict=True)]
        alarm = (predict(mixed).gain.low or 0.0) > 0
        tally.add(f"healthy {topology} team", "shuffled windows seem to tell (equation 14)", alarm)


def keep(tally: Tally, begun: dict[str, Any], experiments: int, seeds: int) -> None:
    """Write the rates found so far."""
    last = FIRST_SEED + experiments * seeds - 1
    about = {key: value for key, value in begun.items() if key != "figures"}
    about |= {"command": f"{begun['command']} --experiments {experiments} --seeds {seeds}"}
    about |= {"experiments": experiments, "seeds_each": seeds, "seeds": f"{FIRST_SEED}-{last}", "rates": tally.rows()}
    write(results_folder() / "alarms.json", about)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rates in Markdown."""
    lines = ["| truth | what is said | how often | 95 % |", "|---|---|---|---|"]
    for row in rows:
        interval = f"{row['low']:.2f} to {row['high']:.2f}"
        lines.append(f"| {row['truth']} | {row['what']} | {row['hits']} of {row['n']} | {interval} |")
    return "\n".join(lines)


def main() -> None:
    """Play all experiments, keep the rates after each, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=16, help="of each experiment")
    parser.add_argument("--out", type=Path, default=None, help="keeps the episodes; the same folder goes on")
    parser.add_argument("--table", action="store_true", help="print what is kept of an earlier run, and play nothing")
    chosen = parser.parse_args()
    if chosen.table:
        kept = read(results_folder() / "alarms.json")
        print(table(kept["rates"]) if kept else "nothing is kept")
        return
    folder = chosen.out or Path(tempfile.mkdtemp(prefix="alarms-"))
    k, n = chosen.experiments, chosen.seeds
    tally, begun = Tally(), begin("alarms")
    for experiment in range(k):
        seeds = range(FIRST_SEED + experiment * n, FIRST_SEED + (experiment + 1) * n)
        for truth in truths():
            judge(folder, truth, seeds, tally)
            keep(tally, begun, experiment + 1, n)
            print(f"experiment {experiment + 1} of {k}: {truth.name}", flush=True)
    for topology in HEALTHY:
        against_itself(folder, topology, 20 * k, n, k * n, tally)
        shuffled(folder, topology, 4 * k, 2 * n, tally)
        keep(tally, begun, k, n)
    print(table(tally.rows()))


if __name__ == "__main__":
    main()
