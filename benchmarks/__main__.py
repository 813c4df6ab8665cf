"""``python -m benchmarks``: every benchmark in a process of its own, then docs/performance.md from what they measured.

``python -m benchmarks NAME ...`` runs those only, and ``--page`` writes the page from what is kept of earlier runs.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time

from benchmarks.common import ROOT, RUNNING, begin, keep_rest, machine_line, results_folder, write
from benchmarks.page import PAGE, write_page

NAMES = (
    "cube_steps",
    "ma_crafter_steps",
    "loop_overhead",
    "throughput",
    "log_paging",
    "viewer_open",
    "prompt_prefix",
    "growth",
    "exchange_episode",
)

KEPT = ("soak", "alarms")
"""What scripts/soak.py and benchmarks/alarms.py have found stays until they are run again."""


def main(argv: list[str]) -> int:
    """Run the benchmarks one after another; returns 1 when one of them broke."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--page", action="store_true", help="write docs/performance.md; without NAME, measure nothing")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    if options.here:
        for name in options.names:
            measure(name)
        return 0
    broken = run(options.names) if options.names or not options.page else 0
    if options.page or not options.names:
        write_page(results_folder())
        print(f"written: {PAGE.relative_to(ROOT)}")
    return 1 if broken else 0


def run(names: list[str]) -> int:
    """Each benchmark in a process of its own; a run of all begins with no figures. Returns how many broke."""
    print(machine_line(), flush=True)
    for path in results_folder().glob("*.json"):
        if path.stem in names or not (names or path.stem in KEPT):
            path.unlink()
    broken = []
    for name in names or NAMES:
        begun = time.monotonic()
        print(f"== {name}: python -m benchmarks.{name}", flush=True)
        command = [sys.executable, "-m", "benchmarks", "--here", name]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, RUNNING: name}, check=False)
        if done.returncode != 0:
            broken.append(name)
        print(f"   ({time.monotonic() - begun:.0f} s)", flush=True)
    if broken:
        print(f"broken: {', '.join(broken)}", file=sys.stderr)
    return len(broken)


def measure(name: str) -> None:
    """Run one benchmark's `main` in this process and keep its figures."""
    write(results_folder() / f"{name}.json", begin(name))
    module = importlib.import_module(f"benchmarks.{name}")
    keep_rest(name, module.main(), module)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
