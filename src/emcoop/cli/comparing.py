"""`emcoop compare`: contrasts between arms of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from emcoop.analysis.cells import EpisodeRecord, read_records
from emcoop.analysis.compare import AXES, MEASURES, Comparison, compare, pairwise
from emcoop.analysis.words import interval, number
from emcoop.cli.output import console, print_json
from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError, UnknownName
from emcoop.experiment.study import log_path
from emcoop.log.reader import LogReader
from emcoop.metrics import metric_order


def show(run: Path, a: str | None, b: str | None, by: str | None, metrics: Sequence[str], *, json: bool) -> None:
    """Print the contrasts of two arms, or of all pairs of values of an axis. Raises ConfigError."""
    for name in metrics:
        if name not in metric_order():
            raise UnknownName(f"unknown metric {name!r}; {nearest(name, metric_order())}")
    with LogReader.open(log_path(run)) as reader:
        records = read_records(reader)
    found = _contrasts(records, a, b, by, tuple(metrics) or MEASURES)
    if json:
        print_json({"run": str(run), "contrasts": [item.to_json() for item in found]})
        return
    out = console()
    out.print(_table(found))
    out.print(
        "Means over the seeds both have; the difference with its 95 % BCa interval; p by sign-flip permutation, Holm "
        "over the conditions of a metric; d: Cohen's d; seeds: how many a repeat needs for 80 % power."
    )


def _contrasts(
    records: list[EpisodeRecord], a: str | None, b: str | None, by: str | None, metrics: tuple[str, ...]
) -> list[Comparison]:
    if by is not None:
        if a is not None:
            raise ConfigError("give two arms or --by AXIS, not both")
        return pairwise(records, by, metrics)
    if a is None or b is None:
        raise ConfigError(f"name two arms, or all pairs of an axis with --by; axes: {', '.join(AXES)}")
    return compare(records, a, b, metrics)


def _table(found: Sequence[Comparison]) -> Table:
    table = Table("metric", "a - b", box=None, pad_edge=False)
    for head in ("n", "a", "b", "difference", "p", "p Holm", "d", "seeds"):
        table.add_column(head, justify="right")
    for item in found:
        c = item.contrast
        difference = f"{number(c.difference.mean)} {interval(c.difference)}".strip()
        numbers = (number(c.a.mean), number(c.b.mean), difference, _p(c.p), _p(c.adjusted), number(c.d))
        table.add_row(item.metric, _what(item), str(c.difference.n), *numbers, str(item.seeds or "-"))
    return table


def _what(item: Comparison) -> str:
    where = " ".join(f"{value}" for axis, value in item.where.items() if axis in ("level", "agents", "topology"))
    arms = " - ".join(
        " ".join(arm.values()) or cell[:8] for arm, cell in ((item.a, item.a_cell), (item.b, item.b_cell))
    )
    return f"{arms}\n  {where}" if where else arms


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
