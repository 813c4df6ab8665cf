"""`emcoop run`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from emcoop.cli.output import Meter, print_json, say
from emcoop.cli.reporting import show
from emcoop.core.canonical import content_hash
from emcoop.core.config import load
from emcoop.core.errors import ConfigError, EmcoopError, Interrupted
from emcoop.experiment.matrix import Matrix, read_matrix, read_settings
from emcoop.experiment.study import Study, check, play

RUNS = Path("runs")


def matrix_of(
    what: str,
    axes: Mapping[str, str | None],
    seeds: str | None,
    settings: Sequence[str],
    options: Sequence[str],
    interventions: str | None,
    references: bool,
) -> Matrix:
    """The matrix of a file or of an environment's name; what is given on the command line wins over the file."""
    is_file = what.endswith((".yaml", ".yml"))
    base: dict[str, Any] = read_matrix(Path(what)).model_dump() if is_file else {"env": what}
    given: dict[str, object] = {}
    for axis, text in axes.items():
        if text is not None:
            given[axis] = tuple(part.strip() for part in text.split(",") if part.strip())
    if seeds is not None:
        given["seeds"] = seeds
    if settings:
        given["set"] = {**base.get("set", {}), **read_settings(settings)}
    if options:
        given["options"] = {**base.get("options", {}), **read_settings(options)}
    if interventions is not None:
        given["interventions"] = tuple(interventions.split(","))
    if not references:
        given["references"] = ()
    return load(Matrix, {**base, **given}, what if is_file else "run")


def run(matrix: Matrix, out: Path | None, *, jobs: int, cache: Path | None, json: bool) -> None:
    """Play the matrix into its run folder and show the tables. Raises EmcoopError when an episode failed."""
    study = matrix.study()
    for warning in check(study):
        say(f"warning: {warning}")
    folder = out or RUNS / f"{matrix.env}-{content_hash(matrix)[:8]}"
    errors = play_into(study, matrix, folder, jobs=jobs, cache=cache)
    document = show(folder, cells={cell.cell for cell in study.cells}, seeds=set(study.seeds), json=json)
    if document is not None:
        print_json({"run": str(folder), **document})
    if errors:
        more = f" (and {len(errors) - 1} more; see the report)" if len(errors) > 1 else ""
        raise EmcoopError(f"{len(errors)} episodes failed; the first: {errors[0]}{more}")


def play_into(study: Study, matrix: Matrix, folder: Path, *, jobs: int, cache: Path | None) -> list[str]:
    """Play with live progress; Ctrl-C leaves what is finished and says how to go on."""
    _write_matrix(matrix, folder)
    try:
        with Meter() as meter:
            return asyncio.run(play(study, folder, jobs=jobs, listener=meter, cache=cache))
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; finished episodes are kept in {folder}. The same command goes on from there."
        ) from None


def _write_matrix(matrix: Matrix, folder: Path) -> None:
    import yaml

    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(matrix.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        (folder / "run.yaml").write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be used as a run folder: {error.strerror or error}") from error
