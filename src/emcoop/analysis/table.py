"""Tables for a terminal of 80 to 100 columns: the outcome with its floors and ceilings, and M1-M18."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import fsum

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from emcoop.analysis.cells import Row, names_of, split_references
from emcoop.analysis.stats import Estimate
from emcoop.analysis.words import interval, limits, number, printable, ranges
from emcoop.metrics import PAPER, load_metric

NAME_WIDTH = 22
CELL_WIDTH = 13


def outcome_table(rows: Sequence[Row]) -> RenderableType:
    """One table per task (environment, level, team size), its floors and ceilings below a line.

    Intervals are 95 %. Episodes that failed, were cut off or are impossible are named below the table.
    """
    names = names_of(rows)
    own, references = split_references(rows)
    parts: list[RenderableType] = []
    for group in dict.fromkeys(row.group for row in rows):
        mine = [row for row in own if row.group == group]
        theirs = [row for row in references if row.group == group]
        parts.append(_outcome(mine, theirs, names))
        parts.extend(_notes([*mine, *theirs], names))
        parts.append(Text(f"  {seeds_of([*mine, *theirs])}; intervals are 95 %", style="dim"))
    return Group(*parts)


def _outcome(rows: Sequence[Row], references: Sequence[Row], names: dict[str, str]) -> Table:
    table = _table(_title([*rows, *references][0]))
    table.add_column("team", overflow="fold")
    for name in ("n", "success", "progress", "steps", "msgs", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ended by")
    for row in rows:
        table.add_row(*_outcome_cells(row, names))
    if references:
        table.add_section()
    for row in references:
        table.add_row(*_outcome_cells(row, names), style="dim")
    return table


def _outcome_cells(row: Row, names: dict[str, str]) -> list[Text]:
    first, _, rest = names[row.cell].partition(" ")
    team = f"{row.role}: {rest}\n{first}" if row.role else f"{first}\n{rest}"
    return [
        Text(team),
        Text(str(row.n)),
        _stacked(row.success),
        _stacked(row.progress),
        Text(number(row.extras["steps"].mean)),
        Text(number(row.metrics["M6"].mean)),
        Text(number(tokens(row))),
        Text(limits(row.limits)),
    ]


def tokens(row: Row) -> float | None:
    """Mean tokens of an episode, prompts and answers together."""
    parts = (row.extras["input_tokens"].mean, row.extras["output_tokens"].mean)
    return None if None in parts else sum(part or 0.0 for part in parts)


def _notes(rows: Iterable[Row], names: dict[str, str]) -> list[Text]:
    """What the numbers leave out, a line for each cell that has any of it."""
    lines = []
    for row in rows:
        found = exclusions(row)
        if found:
            lines.append(Text(f"  {names[row.cell]}: {found}", style="yellow"))
    return lines


def seeds_of(rows: Iterable[Row]) -> str:
    """The seeds of these cells and their official splits: ``seeds 0-9 (dev)``."""
    members = list(rows)
    splits = sorted({part for row in members for part in row.split.split("+")})
    return f"seeds {ranges(seed for row in members for seed in row.seeds)} ({', '.join(splits)})"


def spent(rows: Iterable[Row]) -> str:
    """What all finished episodes of these cells used together, in words; what has no known price is said."""
    members = list(rows)
    calls, *counts, usd = (_total(members, n) for n in ("model_calls", "input_tokens", "output_tokens", "cost_usd"))
    unpriced = sum(row.n - row.extras["cost_usd"].n for row in members)
    if not (calls or usd or unpriced):
        return "no language model was called"
    of_unknown = f" and episodes of unknown price ({unpriced})" if unpriced else ""
    return f"{calls:,.0f} model calls, {counts[0]:,.0f} tokens in, {counts[1]:,.0f} out, ${number(usd)}{of_unknown}"


def _total(rows: Iterable[Row], name: str) -> float:
    return fsum((row.extras[name].mean or 0.0) * row.extras[name].n for row in rows)


def exclusions(row: Row) -> str:
    """Failed, unfinished and impossible episodes of a cell, and mixed versions, in words, or nothing."""
    parts = []
    if row.failed:
        parts.append(f"{row.failed} failed and left out" + (f" ({printable(row.error)})" if row.error else ""))
    if row.unfinished:
        parts.append(f"{row.unfinished} unfinished and left out")
    if row.impossible:
        parts.append(f"{row.impossible} impossible for any team")
    if len(row.versions) > 1:
        parts.append(f"played by different versions, which may not be alike: {printable('; '.join(row.versions))}")
    return "; ".join(parts)


def metric_tables(rows: Sequence[Row], names: Sequence[str] = PAPER, *, width: int = 80) -> RenderableType:
    """These metrics as lines and all cells as columns, floors and ceilings included, each with its 95 % interval.

    A task with too many cells for a terminal of this width continues in another table.
    """
    columns = max(1, (width - NAME_WIDTH - 2) // (CELL_WIDTH + 1))
    parts: list[RenderableType] = []
    labels = names_of(rows)
    for _, members in groupby(rows, key=lambda row: row.group):
        group = list(members)
        starts = range(0, len(group), columns)
        parts.extend(_metrics(group[first : first + columns], labels, names) for first in starts)
    return Group(*parts)


def _metrics(rows: Sequence[Row], labels: dict[str, str], names: Sequence[str]) -> Table:
    table = _table(_title(rows[0]))
    table.add_column("metric", width=NAME_WIDTH)
    for row in rows:
        header = Text(labels[row.cell].replace(" ", "\n"), overflow="fold")
        header.append(f"\nn = {row.n}", style="dim")
        table.add_column(header, width=CELL_WIDTH, justify="right")
    for name in names:
        line = Text(f"{name} " if name.startswith("M") else "", style="bold")
        line.append(_describe(name), style="not bold")
        table.add_row(line, *[_stacked(row.estimate(name), row.n) for row in rows])
    return table


def _describe(name: str) -> str:
    found = load_metric(name)
    words = found.title.replace(",", "").split()
    said = found.unit == "share" or found.unit in words
    return printable(found.title if said else f"{found.title} ({found.unit})")


def _stacked(estimate: Estimate, n: int | None = None) -> Text:
    """The mean over its interval; its own n where that differs from the cell's."""
    text = Text(number(estimate.mean))
    if n is not None and 0 < estimate.n != n:
        text.append(f" n={estimate.n}", style="dim")
    below = interval(estimate)
    if below:
        text.append(f"\n{below}", style="dim")
    return text


def _title(row: Row) -> str:
    return printable(f"{row.env} {row.level}, {row.agents} agent{'s' if row.agents != 1 else ''}")


def _table(title: str) -> Table:
    return Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=0)
