"""`emcoop doctor`: what this machine has and what is missing, or what is wrong with a log."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.table import Table

from emcoop import __version__
from emcoop.cli.output import console, print_json
from emcoop.core.errors import CorruptLog
from emcoop.experiment.study import log_path
from emcoop.log.reader import LogReader

EXTRAS = {
    "aiohttp": "models openai:NAME",
    "anthropic": "models anthropic:NAME",
    "xllamacpp": "models local:NAME",
    "genai-prices": "prices of hosted models",
    "pettingzoo": "emcoop.rl",
    "altair": "radar and bar charts in reports",
    "vl-convert-python": "radar and bar charts in reports",
    "duckdb": "emcoop report --parquet",
    "ray": "emcoop run --executor ray",
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `state` is ``ok``, ``missing`` (only some features need it) or ``bad``."""

    what: str
    state: str
    detail: str


def doctor(run: Path | None, *, json: bool) -> None:
    """Examine the machine, or the log of a run. Raises CorruptLog when the log has faults."""
    if run is not None:
        _check_log(log_path(run), json=json)
        return
    findings = list(_machine())
    if json:
        print_json({"findings": [asdict(finding) for finding in findings]})
        return
    table = Table("what", "state", "detail", box=None, pad_edge=False)
    for finding in findings:
        table.add_row(finding.what, finding.state, finding.detail)
    console().print(table)


def _check_log(path: Path, *, json: bool) -> None:
    with LogReader.open(path) as reader:
        problems = reader.check()
        count = len(reader.episodes())
    if json:
        print_json({"log": str(path), "episodes": count, "problems": problems})
    if problems:
        raise CorruptLog("\n".join(problems))
    if not json:
        print(f"{path}: {count} episodes, nothing wrong")


def _machine() -> Iterator[Finding]:
    yield Finding("emcoop", "ok", f"{__version__}, Python {platform.python_version()}, {sys.platform}")
    yield Finding("machine", "ok", f"{os.cpu_count()} cores, {shutil.disk_usage('.').free / 2**30:.0f} GiB free here")
    yield Finding("sqlite", "ok" if sqlite3.sqlite_version_info >= (3, 35) else "bad", sqlite3.sqlite_version)
    yield _numba()
    for package, use in EXTRAS.items():
        try:
            yield Finding(package, "ok", version(package))
        except PackageNotFoundError:
            yield Finding(package, "missing", f"only needed for {use}")
    for key in KEYS:
        found = bool(os.environ.get(key))
        yield Finding(key, "ok" if found else "missing", "set" if found else "only needed for that provider's models")
    yield _model()


def _numba() -> Finding:
    from emcoop.core.compile import COMPILED

    if not COMPILED:
        return Finding("compiled rules", "ok", "switched off by EMCOOP_COMPILE=0 or NUMBA_DISABLE_JIT")
    try:
        return Finding("compiled rules", "ok", f"numba {version('numba')}")
    except PackageNotFoundError:
        return Finding("compiled rules", "bad", "numba is not installed; EMCOOP_COMPILE=0 runs without it")


def _model() -> Finding:
    from emcoop.models.pull import find

    path = find("smollm2")
    if path is None:
        return Finding("model smollm2", "missing", "emcoop models pull smollm2 fetches it (98 MB)")
    return Finding("model smollm2", "ok", str(path))
