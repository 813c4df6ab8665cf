"""``python -m benchmarks [NAME ...]``: all benchmarks, or those named; each in its own process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

NAMES = ("cube_steps", "loop_overhead", "throughput", "log_paging", "viewer_open", "ma_crafter_steps")


def main(names: list[str]) -> int:
    """Run the benchmarks one after another; returns 1 when one of them broke."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    broken = 0
    for name in names or NAMES:
        begun = time.monotonic()
        print(f"== {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=Path(__file__).parents[1], check=False)
        broken += done.returncode != 0
        print(f"   ({time.monotonic() - begun:.0f} s)", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
