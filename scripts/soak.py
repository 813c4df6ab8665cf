"""A long mixed run under limits, killed again and again: does anything grow, is anything lost?

``python scripts/soak.py --minutes 60`` plays teams of CUBE and MA-Crafter, scripted ones and language-model agents (one
model is a function, one a server on loopback that refuses some requests with 429), until that much simulated time has
passed. It plays them twice, each time in a worker process under limits on address space and open files: once
undisturbed, and once with SIGKILLs at random moments and resumption. Then it compares:

- growth: memory and open files of the undisturbed worker after each round, as a slope (Theil-Sen, 95 % interval).
  emcoop's bounded caches are emptied before each sample, and every few rounds begin a new log: what fills up within
  bounds, and the index of a growing log, are left out of the figure;
- loss: after every kill, each episode that was finished still is, with the same digest; in the end both logs hold the
  same episodes with the same digests and the same number of events, each once, and pass the log's own check.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from soak_worker import BEGUN, serving

from emcoop.log.reader import LogReader

WORKER = Path(__file__).with_name("soak_worker.py")
ROUND_LIMIT_S = 120
"""A worker that nobody kills may take so long for each round."""

GROWTH_LIMIT = 0.05
"""The slope, over all rounds, may come to this share of the median."""

WARM = 0.3
"""This part of the rounds fills caches and is left out of the slope."""


@dataclass
class Options:
    """What to do; see the command line."""

    minutes: float
    seed: int
    memory_mb: int
    files: int
    kills: int


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


def start(folder: Path, url: str, options: Options, rounds: int | None) -> subprocess.Popen[bytes]:
    """A worker under the limits."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(WORKER), str(folder), url, str(options.seed)]
    command += ["--minutes", str(options.minutes)] + ([] if rounds is None else ["--rounds", str(rounds)])

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


def logs(folder: Path) -> Iterator[LogReader]:
    """A reader of each log that the workers have begun."""
    for path in sorted(folder.glob("*/log.db")):
        with LogReader.open(path) as reader:
            yield reader


def finished(folder: Path) -> Finished:
    """The digests of the finished episodes. An episode that is there twice is an error."""
    rows = [row for reader in logs(folder) for row in reader.episodes() if row.status == "finished"]
    found = {(row.cell, row.seed): row.digest for row in rows}
    assert len(found) == len(rows), "an episode is there twice"
    return found


def undisturbed(folder: Path, url: str, options: Options) -> float:
    """Play to the end; returns the real seconds of it."""
    begun = time.monotonic()
    worker = start(folder, url, options, None)
    try:
        while worker.poll() is None:
            _tell("undisturbed", folder, options)
            time.sleep(1)
    finally:
        worker.kill()
        worker.wait()
    if worker.returncode != 0:
        raise SystemExit(f"the undisturbed worker ended with {worker.returncode}")
    return time.monotonic() - begun


def killed(folder: Path, url: str, options: Options, rounds: int, pause_s: float) -> tuple[int, Finished, list[str]]:
    """Play the same under kills at random moments; returns how many there were, the result, and what was lost."""
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
        _tell(f"killed {kills} times", folder, options)
        if worker.returncode == 0:
            return kills, kept, lost
        if worker.returncode != -signal.SIGKILL:
            raise SystemExit(f"a worker ended with {worker.returncode}")
        if kills > options.kills:
            raise SystemExit(f"the last worker did not end within {ROUND_LIMIT_S * rounds} s")


def _tell(what: str, folder: Path, options: Options) -> None:
    seen = samples(folder)
    if seen:
        last = seen[-1]
        text = f"{last['simulated_s'] / 60:.1f} of {options.minutes:g} simulated minutes, round {last['round']}"
        print(f"{what}: {text}, {last['rss_mb']:.0f} MB, {last['fds']} files", file=sys.stderr, flush=True)


def events_of(folder: Path) -> dict[tuple[str, int], int]:
    """How many events each episode has."""
    return {(row.cell, row.seed): reader.count(row.id) for reader in logs(folder) for row in reader.episodes()}


def slope(values: Sequence[float]) -> tuple[float, float, float]:
    """The Theil-Sen slope per round and its 95 % interval."""
    from scipy.stats import theilslopes

    found = theilslopes(values, range(len(values)), 0.95)
    return float(found[0]), float(found[2]), float(found[3])


def judge_growth(report: Report, seen: Sequence[Mapping[str, Any]]) -> None:
    """Whether memory or open files of one process grow from round to round."""
    import statistics

    later = seen[int(len(seen) * WARM) :]
    if len(later) < 4:
        report.add("growth", f"only {len(later)} rounds after the first ones; play for longer", False)
        return
    for name, thing, unit in (("rss_mb", "memory grows", "MB"), ("fds", "open files grow", "files")):
        values = [float(sample[name]) for sample in later]
        middle, low, high = slope(values)
        grown, allowed = middle * len(seen), GROWTH_LIMIT * statistics.median(values)
        text = f"{middle:+.4f} {unit} a round [{low:+.4f}, {high:+.4f}], n={len(values)}, "
        text += f"median {statistics.median(values):.1f} {unit}, {allowed:.1f} {unit} in all are allowed"
        report.add(f"{thing} by less than {GROWTH_LIMIT:.0%} in a run", text, grown <= allowed)
        report.figures[name] = {"slope": middle, "low": low, "high": high, "values": values}


def judge_loss(report: Report, calm: Path, shaken: Path, kills: int, lost: Sequence[str]) -> None:
    """Whether the run under kills has everything that the undisturbed one has, once and alike."""
    one, other = finished(calm), finished(shaken)
    report.add("nothing finished is lost by a kill", f"{len(lost)} lost in {kills} kills", not lost)
    missing, extra = one.keys() - other.keys(), other.keys() - one.keys()
    report.add(
        "every episode is there, once",
        f"{len(other)} of {len(one)}, {len(extra)} that nobody asked for",
        not missing and not extra,
    )
    differ = sum(one[key] != other[key] for key in one.keys() & other.keys())
    report.add("digests equal the undisturbed run's", f"{differ} differ of {len(one)}", differ == 0)
    events = events_of(calm), events_of(shaken)
    report.add(
        "no event is missing", f"{sum(events[1].values()):,} of {sum(events[0].values()):,}", events[0] == events[1]
    )
    for name, folder in (("undisturbed", calm), ("killed", shaken)):
        problems = [problem for reader in logs(folder) for problem in reader.check()]
        report.add(f"the {name} log is sound", problems[0] if problems else "checked event by event", not problems)
    report.figures |= {"episodes": len(one), "kills": kills, "events": sum(events[0].values())}


def soak(options: Options) -> Report:
    """Both runs and the comparison."""
    report = Report()
    with tempfile.TemporaryDirectory() as name, serving() as url:
        calm, shaken = Path(name) / "undisturbed", Path(name) / "killed"
        spent = undisturbed(calm, url, options)
        seen = samples(calm)
        rounds = len(seen)
        report.figures |= {
            "minutes": seen[-1]["simulated_s"] / 60,
            "rounds": rounds,
            "real_s": spent,
            "limits": {"memory_mb": options.memory_mb, "files": options.files},
        }
        judge_growth(report, seen)
        kills, _, lost = killed(shaken, url, options, rounds, spent / rounds)
        if options.kills:
            report.add("it was killed", f"{kills} times", kills > 0)
        judge_loss(report, calm, shaken, kills, lost)
    return report


def show(report: Report) -> None:
    """Print the table."""
    figures = report.figures
    limits = figures["limits"]
    print(
        f"{figures['minutes']:.1f} simulated minutes in {figures['real_s']:.0f} s: {figures['episodes']} episodes, "
        f"{figures['events']:,} events, {figures['rounds']} rounds; at most {limits['memory_mb']} MB of address space "
        f"and {limits['files']} open files"
    )
    width = max(len(verdict.what) for verdict in report.verdicts)
    for verdict in report.verdicts:
        print(f"{'ok    ' if verdict.good else 'FAILED'} {verdict.what:<{width}}  {verdict.found}")


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 0 when all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60, help="simulated minutes to play (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the episodes and of the kills")
    parser.add_argument("--memory-mb", type=int, default=4096, help="limit on a worker's address space")
    parser.add_argument("--files", type=int, default=64, help="limit on a worker's open files")
    parser.add_argument("--kills", type=int, default=20, help="at most so many")
    parser.add_argument("--json", type=Path, help="write the verdicts and figures here")
    given = parser.parse_args(argv)
    if given.minutes <= 0:
        parser.error("--minutes must be above 0")
    report = soak(Options(given.minutes, given.seed, given.memory_mb, given.files, given.kills))
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
