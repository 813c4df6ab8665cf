"""`emcoop dialogue`: what dialogue worlds measure of their own, beside the published rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from emcoop.analysis.dialogue import Told, relay, shown, tell, world_of
from emcoop.analysis.stats import Estimate
from emcoop.analysis.words import interval, number, printable
from emcoop.cli.output import console, print_json, say
from emcoop.core.types import Json
from emcoop.experiment.study import log_path
from emcoop.log.reader import LogReader

NAME_WIDTH = 34

COLUMN = 13
"""Characters of a figure with its interval, and the space after it."""


def dialogue(run: Path, *, json: bool) -> None:
    """The measures of every cell, interventions against their controls, and what has been published."""
    with LogReader.open(log_path(run)) as reader:
        cells = tell(reader)
    worlds = list(dict.fromkeys(cell.env for cell in cells))
    if json:
        rows = {env: world_of(env).published() for env in worlds}
        print_json({"run": str(run), "cells": [cell.to_json() for cell in cells], "published": rows})
        return
    for env in worlds:
        _show(env, [cell for cell in cells if cell.env == env])


def _show(env: str, cells: Sequence[Told]) -> None:
    out = console()
    keys = shown(env)
    keys = [key for key in keys if any(cell.values[key].n for cell in cells if key in cell.values)] or list(keys)
    out.print(_measured(env, cells, keys, out.width))
    changed = relay(cells, keys[0])
    if changed:
        table = _table(f"interventions against the cell without them: {_plain(keys[0])}")
        for head in ("n", "with", "without", "difference", "p Holm"):
            table.add_column(head, justify="right", no_wrap=True)
        for cell, made in changed:
            p = "-" if made.adjusted is None else f"{made.adjusted:.4f}"
            means = number(made.a.mean), number(made.b.mean)
            table.add_row(_name(cell), str(made.difference.n), *means, _stacked(made.difference), p)
        out.print(table)
    out.print(_published(env, out.width))
    say("published rows are other people's models in worlds drawn by other programs: they stand here for orientation")


def _measured(env: str, cells: Sequence[Told], keys: Sequence[str], width: int) -> RenderableType:
    """Per cell a line with its name and, under it, its figures in columns; what finds no room is in the JSON."""
    keys = keys[: max(1, (width - 4) // COLUMN)]
    head = _grid(len(keys))
    head.add_row("n", *(key.replace("_", " ") for key in keys))
    parts: list[RenderableType] = [Text(f"\n{env}: measured here\n", style="bold"), head, Rule(style="dim")]
    for cell in cells:
        name = _name(cell)
        if causes := _causes(cell):
            name.append(f"\nfailed by: {causes}", style="dim")
        row = _grid(len(keys))
        row.add_row(str(cell.n), *(_stacked(cell.values[key]) if key in cell.values else "-" for key in keys))
        parts += [name, row]
    return Group(*parts)


def _grid(columns: int) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(justify="right", width=3)
    for _ in range(columns):
        grid.add_column(justify="right", width=COLUMN - 1)
    return grid


def _published(env: str, width: int) -> RenderableType:
    rows = world_of(env).published()
    keys = [key for key in rows[0] if key not in ("model", "origin", "source")]
    names = max(len(str(row["model"])) for row in rows)
    room = max(1, (width - names - 2) // COLUMN)
    tables: list[RenderableType] = []
    for first in range(0, len(keys), room):
        title = f"{env}: published ({rows[0]['source']})" if not first else ""
        table = _table(title, names)
        for key in keys[first : first + room]:
            table.add_column(_plain(key), justify="right")
        for row in rows:
            figures = (_figure(row.get(key)) for key in keys[first : first + room])
            table.add_row(printable(str(row["model"])), *figures, style="dim")
        tables.append(table)
    return Group(*tables)


def _table(title: str, names: int = NAME_WIDTH) -> Table:
    table = Table(
        title=Text(f"\n{title}", style="bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("", overflow="fold", min_width=names)
    return table


def _name(cell: Told) -> Text:
    """The team, and what was done to it: ``+ primer messages=4 agent=scripted @0``."""
    done = (re.sub(r"[:;]|(?=@)", " ", name) for name in cell.interventions)
    return Text("\n".join((f"{cell.team} ({cell.level})", *(f"+ {name}" for name in done))))


def _plain(key: str) -> str:
    return key.replace("_", " ")


def _figure(value: Json) -> str:
    return number(float(value)) if isinstance(value, int | float) else "-"


def _stacked(value: Estimate) -> str:
    return "\n".join(filter(None, (number(value.mean), interval(value))))


def _causes(cell: Told) -> str:
    found = {name.removeprefix("cause_"): value for name, value in cell.values.items() if name.startswith("cause_")}
    counts = {name: round((value.mean or 0) * value.n) for name, value in found.items()}
    return ", ".join(f"{count} {_plain(name)}" for name, count in counts.items() if count)
