"""`emcoop report`: from a run's log to tables, JSON and report.html."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emcoop.analysis.cells import EpisodeRecord, Row, read_record, summarise, to_json
from emcoop.cli.output import console, print_json, say
from emcoop.core.errors import LogError, ReplayMismatch
from emcoop.episode.replay import replay
from emcoop.experiment.study import log_path
from emcoop.log.reader import LogReader


def report(run: Path, *, json: bool) -> None:
    """Tables of every cell of the run, and its report."""
    document = show(run, json=json)
    if document is not None:
        print_json({"run": str(run), **document})


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


def _write_report(reader: LogReader, records: list[EpisodeRecord], rows: list[Row], target: Path) -> None:
    from emcoop.analysis.report import choose_episode, write_report
    from emcoop.metrics.trace import KINDS, Trace

    chosen = choose_episode(records)
    if chosen is None:
        write_report(rows, target)
        return
    trace = Trace.build(reader.events(chosen.id, kinds=KINDS))
    write_report(rows, target, frames=_frames(reader, chosen.id), episode=(chosen, trace))


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
