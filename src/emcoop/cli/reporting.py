"""`emcoop report`: from a run's log to tables, JSON and report.html."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emcoop.analysis.answers import SHOWN_FAILURES, Answers, Told, write_markdown
from emcoop.analysis.attribution import KINDS as ATTRIBUTION_KINDS
from emcoop.analysis.attribution import attribute
from emcoop.analysis.cells import REFERENCES, EpisodeRecord, Row, read_record, summarise, to_json
from emcoop.analysis.compare import Comparison, arms, pairwise
from emcoop.cli.output import console, print_json, say
from emcoop.core.errors import ConfigError, LogError, ReplayMismatch
from emcoop.episode.replay import replay
from emcoop.experiment.merge import MATRIX
from emcoop.experiment.study import log_path
from emcoop.log.reader import LogReader

REPORTED = ("success", "progress", "M1", "M6", "M13", "M18", "deficit_participation")
"""The metrics on which the report contrasts topologies."""


def report(run: Path, *, json: bool) -> None:
    """Tables of every cell of the run, and its report."""
    document = show(run, json=json)
    if document is not None:
        print_json({"run": str(run), **document})


def parquet(run: Path, folder: Path) -> None:
    """The run's episodes and events as Parquet files."""
    from emcoop.analysis.parquet import export_parquet

    with LogReader.open(log_path(run)) as reader:
        for path in export_parquet(reader, folder):
            print(path)


def show(
    run: Path, *, cells: set[str] | None = None, seeds: set[int] | None = None, json: bool
) -> dict[str, Any] | None:
    """Measure the run, write report.html into it, and print the tables, or return the document for ``--json``.

    `cells` and `seeds` restrict what is shown to what was asked for.
    """
    path = log_path(run)
    target = path.with_name("report.html")
    with LogReader.open(path) as reader:
        records = [
            read_record(reader, row)
            for row in reader.episodes()
            if (cells is None or row.cell in cells) and (seeds is None or row.seed in seeds)
        ]
        if not records:
            raise LogError(f"{path}: no episode in this log")
        rows = summarise(records)
        _write_report(reader, records, rows, target)
    if json:
        return {**to_json(rows), "report": str(target)}
    from emcoop.analysis.table import metric_tables, outcome_table

    out = console()
    out.print(outcome_table(rows))
    out.print(metric_tables(rows, width=out.width))
    out.print(f"report: {target}", soft_wrap=True)
    return None


def any_of(run: Path, cells: set[str], seeds: set[int]) -> bool:
    """Whether the run has episodes of these cells and seeds. Raises LogError."""
    with LogReader.open(log_path(run)) as reader:
        return any(row.cell in cells and row.seed in seeds for row in reader.episodes())


def _write_report(reader: LogReader, records: list[EpisodeRecord], rows: list[Row], target: Path) -> None:
    from emcoop.analysis.report import choose_episode, write_report
    from emcoop.metrics.trace import KINDS, Trace

    answers = _answers(reader, records, target.parent)
    write_markdown(rows, answers, target.with_suffix(".md"))
    chosen = choose_episode(records)
    if chosen is None:
        write_report(rows, target, answers=answers)
        return
    trace = Trace.build(reader.events(chosen.id, kinds=KINDS))
    write_report(rows, target, frames=_frames(reader, chosen.id), episode=(chosen, trace), answers=answers)


def _answers(reader: LogReader, records: list[EpisodeRecord], run: Path) -> Answers:
    """Contrasts of topologies where there are several, the first failures of each team, and where it came from."""
    teams = [record for record in records if not _is_reference(record)]
    contrasts: tuple[Comparison, ...] = ()
    note = ""
    if len({arm.axes["topology"] for arm in arms(teams)}) > 1:
        try:
            contrasts = tuple(pairwise(teams, "topology", REPORTED))
        except ConfigError as error:
            note = f"Topologies are not contrasted: {error}"
    failures: list[Told] = []
    for cell in dict.fromkeys(record.cell for record in teams):
        lost = [r for r in teams if r.cell == cell and r.status == "finished" and r.metrics.get("success") == 0.0]
        for record in lost[:SHOWN_FAILURES]:
            found = attribute(reader.events(record.id, kinds=ATTRIBUTION_KINDS))
            if found is not None:
                failures.append(Told(cell, record.id, record.seed, found.sentence))
    versions = " and ".join(dict.fromkeys(record.version for record in records if record.version))
    study = _text_of(run / MATRIX)
    again = f"emcoop run {run / MATRIX} --out {run}" if study else ""
    return Answers(contrasts, tuple(failures), versions, again, note, study)


def _text_of(path: Path) -> str:
    """The file's text, or nothing where there is no such file. Raises ConfigError for one that cannot be read."""
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def _is_reference(record: EpisodeRecord) -> bool:
    names = {str(seat.get("agent")) for seat in record.setup.get("team") or ()}
    return not record.setup.get("interventions") and len(names) == 1 and names <= set(REFERENCES)


def _frames(reader: LogReader, episode: int) -> list[tuple[str, str]]:
    """Captions and pictures of the beginning, the middle and the end of an episode."""
    last = reader.count(episode, kinds=("step",))
    wanted = sorted({0, last // 2, last})
    try:
        return [
            (f"episode {episode}, after {frame.step} of {last} steps", env.render(frame.state))
            for env, frame in replay(reader, episode)
            if frame.step in wanted
        ]
    except ReplayMismatch as error:
        say(f"no pictures in the report: {error}")
        return []
