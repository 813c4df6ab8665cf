"""A long mixed run under limits, and one that is killed again and again: does anything grow, is anything lost?

``python scripts/soak.py`` plays teams of CUBE and MA-Crafter, scripted ones and language-model agents (one model is a
function, one a server on loopback that refuses some requests with 429), in rounds of nine episodes into one log, in a
worker process under limits on address space and open files. It does so twice: undisturbed, for as long as ``--rounds``
says, and under SIGKILLs at random moments and resumption, for the first ``--killed-rounds`` of these rounds. Then it
judges:

- growth: memory and open files of the undisturbed worker after each round. Of memory, what is resident, and what is in
  use of the C library's and of Python's. The first half of the run is left out: there caches within bounds fill up,
  which takes more than a hundred rounds. What counts is the upper end of the slope's interval in the second half, with
  nothing emptied, returned or begun anew for it;
- loss: after every kill, each episode that was finished still is, with the same digest; in the end both logs hold the
  same episodes with the same digests and the same number of events, each once, and pass the log's own check.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from soak_worker import BEGUN, SEEDS, seeds_of, serving

from emcoop.log.reader import LogReader

WORKER = Path(__file__).with_name("soak_worker.py")
ROUND_LIMIT_S = 120
"""A worker that nobody kills may take so long for each round."""

WARM = 0.5
"""This part of the rounds fills caches and is left out of the slope."""

GROUPS = 10
"""The slope is that of the medians of so many groups of rounds: rounds that follow one another hold nearly the same
memory, and taken one by one they would make the interval too narrow."""

LEAST = 8
"""Fewer rounds than this in the second half prove nothing."""

ALLOWED = {"rss_mb": 0.05, "native_mb": 0.01, "blocks": 200.0, "fds": 0.0}
"""So much more a round, at the upper end of the slope's interval, is no growth. What is in use is told exactly;
resident memory is not: it follows the highest use so far, and what was given back but lies between pieces in use."""

WHAT = {
    "rss_mb": ("resident memory does not grow", "MB"),
    "native_mb": ("what the C library has handed out does not grow", "MB"),
    "blocks": ("what Python has allocated does not grow", "blocks"),
    "fds": ("open files do not grow", "files"),
}

SECOND = 1_000_000


@dataclass
class Options:
    """What to do; see the command line."""

    rounds: int
    killed_rounds: int
    seed: int
    memory_mb: int
    files: int
    kills: int
    allowed: Mapping[str, float]


@dataclass
class Verdict:
    """One line of the table."""

    what: str
    found: str
    good: bool


@dataclass
class Report:
    """Everything that was found out."""

    verdicts: list[Verdict] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def add(self, what: str, found: str, good: bool) -> None:
        """One more line."""
        self.verdicts.append(Verdict(what, found, good))

    @property
    def good(self) -> bool:
        """Whether all is well."""
        return all(verdict.good for verdict in self.verdicts)


def start(folder: Path, url: str, options: Options, rounds: int) -> subprocess.Popen[bytes]:
    """A worker under the limits."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(WORKER), str(folder), url, str(options.seed), str(rounds)]

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (options.memory_mb << 20,) * 2)
        resource.setrlimit(resource.RLIMIT_NOFILE, (options.files,) * 2)

    return subprocess.Popen(command, preexec_fn=limits)


def samples(folder: Path) -> list[dict[str, Any]]:
    """What the workers of this run have noted; a line that a kill has torn is left out."""
    path = folder / "samples.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


Finished = dict[tuple[str, int], str | None]


def finished(folder: Path, seeds: Collection[int] | None = None) -> Finished:
    """The digests of the finished episodes, with these seeds or all. An episode that is there twice is an error."""
    path = folder / "log.db"
    if not path.exists():  # killed before it had begun the log
        return {}
    with LogReader.open(path) as reader:
        rows = [row for row in reader.episodes() if row.status == "finished"]
    found = {(row.cell, row.seed): row.digest for row in rows}
    assert len(found) == len(rows), "an episode is there twice"
    return found if seeds is None else {key: digest for key, digest in found.items() if key[1] in seeds}


def undisturbed(folder: Path, url: str, options: Options) -> float:
    """Play to the end; returns the real seconds of it."""
    begun = time.monotonic()
    worker = start(folder, url, options, options.rounds)
    try:
        while worker.poll() is None:
            _tell("undisturbed", folder, options.rounds)
            time.sleep(1)
    finally:
        worker.kill()
        worker.wait()
    if worker.returncode != 0:
        raise SystemExit(f"the undisturbed worker ended with {worker.returncode}")
    return time.monotonic() - begun


def killed(folder: Path, url: str, options: Options, pause_s: float) -> tuple[int, list[str]]:
    """Play the first rounds under kills at random moments; returns how many there were, and what was lost."""
    rounds = options.killed_rounds
    moments = random.Random(options.seed)
    kept: Finished = {}
    lost: list[str] = []
    kills = 0
    while True:
        (folder / BEGUN).unlink(missing_ok=True)
        worker = start(folder, url, options, rounds)
        life = moments.random() * 3 * pause_s if kills < options.kills else ROUND_LIMIT_S * rounds
        begun = None
        while worker.poll() is None and (begun is None or time.monotonic() - begun < life):
            if begun is None and (folder / BEGUN).exists():
                begun = time.monotonic()
            time.sleep(0.02)
        if worker.poll() is None:
            worker.send_signal(signal.SIGKILL)
            kills += 1
        worker.wait()
        now = finished(folder)
        lost += [f"{cell} seed {seed}" for (cell, seed), digest in kept.items() if now.get((cell, seed)) != digest]
        kept = now
        _tell(f"killed {kills} times", folder, rounds)
        if worker.returncode == 0:
            return kills, lost
        if worker.returncode != -signal.SIGKILL:
            raise SystemExit(f"a worker ended with {worker.returncode}")
        if kills > options.kills:
            raise SystemExit(f"the last worker did not end within {ROUND_LIMIT_S * rounds} s")


def _tell(what: str, folder: Path, rounds: int) -> None:
    seen = samples(folder)
    if seen:
        last = seen[-1]
        text = f"round {last['round']} of {rounds}, {last['rss_mb']:.0f} MB, {last['fds']} files"
        print(f"{what}: {text}", file=sys.stderr, flush=True)


def totals(folder: Path, seeds: Collection[int]) -> tuple[dict[tuple[str, int], int], float]:
    """How many events each episode with these seeds has, and their simulated seconds together."""
    with LogReader.open(folder / "log.db") as reader:
        rows = [row for row in reader.episodes() if row.seed in seeds]
        ends = [reader.last(row.id) for row in rows]
        events = {(row.cell, row.seed): reader.count(row.id) for row in rows}
    return events, sum(end.cog_time for end in ends if end is not None) / SECOND


def slope(values: Sequence[float]) -> tuple[float, float, float]:
    """The Theil-Sen slope per round of the values of all rounds, and its 95 % interval, by the medians of groups."""
    from scipy.stats import theilslopes

    size = max(1, len(values) // GROUPS)
    groups = [values[i : i + size] for i in range(len(values) % size, len(values), size)]
    found = theilslopes([statistics.median(group) for group in groups], range(len(groups)), 0.95)
    return float(found[0]) / size, float(found[2]) / size, float(found[3]) / size


def judge_growth(report: Report, seen: Sequence[Mapping[str, Any]], allowed: Mapping[str, float] = ALLOWED) -> None:
    """Whether memory or open files of one process grow from round to round in the second half of them."""
    later = seen[int(len(seen) * WARM) :]
    if len(later) < LEAST:
        report.add("nothing grows", f"only {len(later)} rounds after the first ones; play for longer", False)
        return
    for name, (what, unit) in WHAT.items():
        values = [float(sample[name]) for sample in later]
        middle, low, high = slope(values)
        text = f"{middle:+,.4f} {unit} a round [{low:+,.4f}, {high:+,.4f}] in the last {len(values)} of {len(seen)} "
        text += f"rounds, median {statistics.median(values):,.1f} {unit}; the interval may reach {allowed[name]:+g}"
        report.add(what, text, high <= allowed[name])
        every = [float(sample[name]) for sample in seen]
        report.figures[name] = {"slope": middle, "low": low, "high": high, "values": every}


def judge_loss(
    report: Report, calm: Path, shaken: Path, kills: int, lost: Sequence[str], seeds: Collection[int]
) -> None:
    """Whether the run under kills has everything with these seeds that the undisturbed one has, once and alike."""
    one, other = finished(calm, seeds), finished(shaken)
    report.add("nothing finished is lost by a kill", f"{len(lost)} lost in {kills} kills", not lost)
    missing, extra = one.keys() - other.keys(), other.keys() - one.keys()
    report.add(
        "every episode is there, once",
        f"{len(other)} of {len(one)}, {len(extra)} that nobody asked for",
        not missing and not extra,
    )
    differ = sum(one[key] != other[key] for key in one.keys() & other.keys())
    report.add("digests equal the undisturbed run's", f"{differ} differ of {len(one)}", differ == 0)
    events = totals(calm, seeds)[0], totals(shaken, seeds)[0]
    report.add(
        "no event is missing", f"{sum(events[1].values()):,} of {sum(events[0].values()):,}", events[0] == events[1]
    )
    for name, folder in (("undisturbed", calm), ("killed", shaken)):
        with LogReader.open(folder / "log.db") as reader:
            problems = reader.check()
        report.add(f"the {name} log is sound", problems[0] if problems else "checked event by event", not problems)


def soak(options: Options) -> Report:
    """Both runs and the comparison."""
    report = Report()
    with tempfile.TemporaryDirectory() as name, serving() as url:
        calm, shaken = Path(name) / "undisturbed", Path(name) / "killed"
        spent = undisturbed(calm, url, options)
        events, simulated_s = totals(calm, seeds_of(options.seed, options.rounds))
        report.figures |= {
            "minutes": simulated_s / 60,
            "rounds": options.rounds,
            "killed_rounds": options.killed_rounds,
            "episodes": len(events),
            "events": sum(events.values()),
            "real_s": spent,
            "limits": {"memory_mb": options.memory_mb, "files": options.files},
        }
        judge_growth(report, samples(calm), options.allowed)
        kills, lost = killed(shaken, url, options, spent / options.rounds)
        report.figures["kills"] = kills
        if options.kills:
            report.add("it was killed", f"{kills} times", kills > 0)
        judge_loss(report, calm, shaken, kills, lost, seeds_of(options.seed, options.killed_rounds))
    return report


def show(report: Report) -> None:
    """Print the table."""
    figures = report.figures
    limits = figures["limits"]
    print(
        f"{figures['minutes']:.1f} simulated minutes in {figures['real_s']:.0f} s: {figures['episodes']} episodes, "
        f"{figures['events']:,} events, {figures['rounds']} rounds, {figures['killed_rounds']} of them under "
        f"{figures['kills']} kills; at most {limits['memory_mb']} MB of address space "
        f"and {limits['files']} open files"
    )
    width = max(len(verdict.what) for verdict in report.verdicts)
    for verdict in report.verdicts:
        print(f"{'ok    ' if verdict.good else 'FAILED'} {verdict.what:<{width}}  {verdict.found}")


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 0 when all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300, help="to play undisturbed, nine episodes each (default 300)")
    parser.add_argument("--killed-rounds", type=int, default=20, help="of these to play under kills (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the episodes and of the kills")
    parser.add_argument("--memory-mb", type=int, default=4096, help="limit on a worker's address space")
    parser.add_argument("--files", type=int, default=64, help="limit on a worker's open files")
    parser.add_argument("--kills", type=int, default=20, help="at most so many")
    for name, what in (("rss_mb", "mb"), ("native_mb", "native-mb"), ("blocks", "blocks"), ("fds", "files")):
        parser.add_argument(
            f"--allowed-{what}", dest=name, type=float, default=ALLOWED[name], help="a round (default %(default)s)"
        )
    parser.add_argument("--json", type=Path, help="write the verdicts and figures here")
    given = parser.parse_args(argv)
    if not 1 <= given.killed_rounds <= given.rounds <= SEEDS:
        parser.error(f"--killed-rounds is 1 to --rounds, and --rounds at most {SEEDS}")
    numbers = given.rounds, given.killed_rounds, given.seed, given.memory_mb, given.files, given.kills
    report = soak(Options(*numbers, {name: getattr(given, name) for name in ALLOWED}))
    show(report)
    if given.json is not None:
        lines = [{"what": v.what, "found": v.found, "good": v.good} for v in report.verdicts]
        at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        document = {"at": at, "good": report.good, "verdicts": lines, **report.figures}
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
