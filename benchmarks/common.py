"""What the benchmarks share: the machine in words, repeated timing, profiles, and the record of every figure.

A script measures in its `main` and hands each figure to `record`, which adds it to ``benchmarks/results/SCRIPT.json``
(``EMCOOP_BENCH_RESULTS`` names another folder). `python -m benchmarks --page` makes docs/performance.md of those files.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import platform
import pstats
import shutil
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.promises import promise

ROOT = Path(__file__).parents[1]
REPEATS = 5
RUNNING = "EMCOOP_BENCH_SCRIPT"
TOP = 10
"""So many functions of a profile are kept."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Several measurements of one quantity."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """The smallest."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest."""
        return max(self.values)


class Median(float):
    """The middle one of several measurements, which it keeps in `values`; else a number like any other."""

    values: tuple[float, ...]

    def __new__(cls, values: Iterable[float]) -> Median:
        """Of at least one measurement."""
        kept = tuple(values)
        middle = super().__new__(cls, statistics.median(kept))
        middle.values = kept
        return middle


def repeated(measure: Callable[[], float], repeats: int = REPEATS, *, warm: int = 1) -> Timing:
    """`repeats` measurements after `warm` ones that are not counted (they compile, or fill caches)."""
    for _ in range(warm):
        measure()
    return Timing(tuple(measure() for _ in range(repeats)))


def machine() -> dict[str, Any]:
    """The machine and what it runs: cpu, cores, memory in GB, load before the run, python, numba, numpy, system."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "numba": version("numba"),
        "numpy": version("numpy"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def machine_line(found: Mapping[str, Any] | None = None) -> str:
    """The machine in one line."""
    m = machine() if found is None else found
    return (
        f"{m['cpu']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']}, Python {m['python']}, "
        f"Numba {m['numba']}, NumPy {m['numpy']}, load {m['load']} before the run"
    )


def profiled(function: Callable[[], Any], top: int = TOP) -> list[dict[str, Any]]:
    """Where the time of one call of the function goes: the `top` functions by their own time.

    Each has `where`, `calls`, `own_s`, `total_s` (with what it calls) and `share` of all time.
    """
    profile = cProfile.Profile()
    profile.enable()
    function()
    profile.disable()
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    whole = sum(entry[2] for entry in stats.values()) or 1.0
    busiest = sorted(stats.items(), key=lambda item: -item[1][2])[:top]
    return [
        {"where": _place(*place), "calls": n, "own_s": own, "total_s": total, "share": own / whole}
        for place, (_, n, own, total, _) in busiest
    ]


def _place(file: str, line: int, function: str) -> str:
    if file == "~":
        return function
    parts = Path(file).parts
    for root in ("emcoop", "site-packages"):
        if root in parts[:-1]:
            parts = parts[len(parts) - parts[::-1].index(root) - (root == "emcoop") :]
            return f"{'/'.join(parts)}:{line} {function}"
    return f"{'/'.join(parts[-2:])}:{line} {function}"


def results_folder() -> Path:
    """Where the figures are kept."""
    return Path(os.environ.get("EMCOOP_BENCH_RESULTS") or ROOT / "benchmarks" / "results")


def script_name() -> str:
    """The benchmark that runs: as `python -m benchmarks` says, else the module that Python was started with."""
    if named := os.environ.get(RUNNING):
        return named
    spec = sys.modules["__main__"].__spec__
    return (spec.name if spec else Path(sys.argv[0]).stem).rpartition(".")[2]


def record(
    name: str,
    value: float | Timing,
    unit: str,
    target: float | None = None,
    *,
    what: str = "",
    more_is_better: bool = False,
    peer: tuple[str, float] | None = None,
    note: str = "",
    profile: Callable[[], Any] | None = None,
    script: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Keep one figure of the running script, in place of an earlier one of this name; returns it.

    `what` says in words what was measured, `peer` names another library and its value in the same unit, `note` says
    why a target is missed. `profile` is called once under the profiler when the target is missed.
    """
    if not isinstance(value, Timing):
        value = Timing(value.values if isinstance(value, Median) else (float(value),))
    timing = value
    median = timing.median
    met = None if target is None else (median >= target if more_is_better else median <= target)
    figure: dict[str, Any] = {
        "name": name,
        "what": what or name.replace("_", " "),
        "value": median,
        "low": timing.low,
        "high": timing.high,
        "n": len(timing.values),
        "unit": unit,
        "target": target,
        "more_is_better": more_is_better,
        "met": met,
        "peer": None if peer is None else {"name": peer[0], "value": peer[1]},
        "note": note,
        "profile": profiled(profile) if profile is not None and met is False else [],
        **more,
    }
    _keep(figure, script or script_name())
    return figure


def _keep(figure: Mapping[str, Any], script: str) -> None:
    path = results_folder() / f"{script}.json"
    kept = read(path) or begin(script)
    kept["figures"] = [old for old in kept["figures"] if old["name"] != figure["name"]] + [figure]
    write(path, kept)


def begin(script: str) -> dict[str, Any]:
    """The empty result of a script that begins now."""
    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = f"python -m benchmarks.{script}"
    return {"script": script, "command": command, "at": at, "machine": machine(), "figures": []}


def read(path: Path) -> dict[str, Any] | None:
    """A script's kept result, or None."""
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(path: Path, result: Mapping[str, Any]) -> None:
    """Keep a result; the file is replaced at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def told(figure: Mapping[str, Any]) -> str:
    """A figure in one line, for the screen."""
    spread = f" [{show(figure['low'])}, {show(figure['high'])}]" if figure["n"] > 1 else ""
    line = f"{figure['what']}: {show(figure['value'])}{spread} {figure['unit']}".rstrip()
    if figure["n"] > 1:
        line += f", median of {figure['n']}"
    if figure["target"] is not None:
        side = "at least" if figure["more_is_better"] else "at most"
        line += f" (target {side} {show(figure['target'])}: {'met' if figure['met'] else 'MISSED'})"
    if figure["peer"] is not None:
        line += f"; {figure['peer']['name']}: {show(figure['peer']['value'])}"
    return line


def show(value: float) -> str:
    """Three significant digits, with separators."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def keep_rest(script: str, figures: Mapping[str, float], module: Any) -> None:
    """Record what a script has returned and not recorded itself, with the promised target where there is one.

    The script's module may have ``PROFILES``: by figure, what to run under the profiler when its target is missed.
    """
    profiles: Mapping[str, Callable[[], Any]] = getattr(module, "PROFILES", {})
    path = results_folder() / f"{script}.json"
    kept = read(path) or begin(script)
    known = {figure["name"] for figure in kept["figures"]}
    for name, value in figures.items():
        if name in known:
            continue
        if promised := promise(script, name):
            unit, target, more = promised.unit, promised.target, promised.more_is_better
            profile = profiles.get(name)
            record(name, value, unit, target, what=promised.what, more_is_better=more, profile=profile, script=script)
        else:
            record(name, value, "number", script=script)


def script(main: Callable[[], Mapping[str, float]], argv: Sequence[str] | None = None) -> int:
    """Run a benchmark's `main` as a program: forgets its old figures, prints the machine, and obeys ``--json FILE``."""
    parser = argparse.ArgumentParser(description=(sys.modules["__main__"].__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures into this file, too")
    options = parser.parse_args(argv)
    name = script_name()
    path = results_folder() / f"{name}.json"
    write(path, begin(name))
    print(machine_line(), flush=True)
    print(f"python -m benchmarks.{name}", flush=True)
    keep_rest(name, main(), sys.modules["__main__"])
    if options.json is not None:
        shutil.copyfile(path, options.json)
    return 0
