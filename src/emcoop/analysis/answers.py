"""What a report says beyond its tables: contrasts between arms, why episodes failed, and how to play it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emcoop.analysis.cells import Row, names_of, split_references
from emcoop.analysis.compare import Comparison
from emcoop.analysis.svg import text
from emcoop.analysis.table import seeds_of
from emcoop.analysis.words import interval, number, printable
from emcoop.core.errors import ConfigError
from emcoop.metrics import PAPER

SHOWN_FAILURES = 5
"""Of each cell so many failed episodes are told."""


@dataclass(frozen=True, slots=True)
class Told:
    """One failed episode in one sentence."""

    cell: str
    episode: int
    seed: int
    sentence: str


@dataclass(frozen=True)
class Answers:
    """`contrasts` are of topologies under matched conditions; `failures` the first of each cell; `version` what played,
    `command` how to play it again."""

    contrasts: tuple[Comparison, ...] = ()
    failures: tuple[Told, ...] = ()
    version: str = ""
    command: str = ""


def sections(rows: Sequence[Row], answers: Answers) -> list[str]:
    """The answers as HTML, for the report's page."""
    parts: list[str] = []
    if answers.contrasts:
        parts += ["<h2>Topologies against each other</h2>", f'<p class="note">{text(_HOW)}</p>']
        head = "".join(f"<th>{name}</th>" for name in ("contrast", "n", "a", "b", "a - b", "p", "p Holm", "d"))
        body = "".join("<tr>" + "".join(f"<td>{text(c)}</td>" for c in line) + "</tr>" for line in _lines(answers))
        parts.append(f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')
    if answers.failures:
        names = names_of(rows)
        parts.append("<h2>Why episodes failed</h2>")
        for cell in dict.fromkeys(told.cell for told in answers.failures):
            parts.append(f"<h3>{text(_where(rows, cell))}: {text(names.get(cell, cell))}</h3><ul>")
            mine = [told for told in answers.failures if told.cell == cell]
            parts += [f"<li>seed {t.seed}, episode {t.episode}: {text(t.sentence)}</li>" for t in mine]
            parts.append("</ul>")
    if answers.command:
        parts.append(f"<h2>Again</h2><p>Played by {text(answers.version)}:</p><pre>{text(answers.command)}</pre>")
    return parts


_HOW = "Paired by seed; 95 % BCa interval; sign-flip permutation test, Holm over the conditions of each metric."


def _lines(answers: Answers) -> list[list[str]]:
    lines = []
    for item in answers.contrasts:
        c = item.contrast
        arms = " - ".join(" ".join(arm.values()) for arm in (item.a, item.b))
        where = " ".join(item.where.get(axis, "") for axis in ("env", "level", "agents")).strip()
        p = ["-" if v is None else f"{v:.4f}" for v in (c.p, c.adjusted)]
        difference = f"{number(c.difference.mean)} {interval(c.difference)}".strip()
        lines.append(
            [
                f"{item.metric}: {arms} ({where})",
                str(c.difference.n),
                number(c.a.mean),
                number(c.b.mean),
                difference,
                *p,
                number(c.d),
            ]
        )
    return lines


def _where(rows: Sequence[Row], cell: str) -> str:
    row = next((row for row in rows if row.cell == cell), None)
    return f"{row.env} {row.level}, {row.agents} agents" if row else ""


def write_markdown(rows: Sequence[Row], answers: Answers, path: Path, title: str = "emcoop report") -> None:
    """The same report as Markdown, without pictures. Raises ConfigError when the file cannot be written."""
    own, references = split_references(rows)
    names = names_of(rows)
    shown = ("success", "progress", *PAPER)
    lines = [f"# {title}", "", f"{sum(r.n for r in rows)} finished episodes; {seeds_of(rows)}.", ""]
    lines += [_row(["task", "team", "n", *shown]), _row(["---"] * (3 + len(shown)))]
    for row in [*own, *references]:
        team = f"{row.role}: {names[row.cell]}" if row.role else names[row.cell]
        values = [f"{number(row.estimate(m).mean)} {interval(row.estimate(m))}".strip() for m in shown]
        lines.append(_row([f"{row.env} {row.level} x{row.agents}", team, str(row.n), *values]))
    if answers.contrasts:
        lines += ["", "## Topologies against each other", "", _HOW, ""]
        lines += [_row(["contrast", "n", "a", "b", "a - b", "p", "p Holm", "d"]), _row(["---"] * 8)]
        lines += [_row(line) for line in _lines(answers)]
    if answers.failures:
        lines += ["", "## Why episodes failed", ""]
        for told in answers.failures:
            lines.append(f"- {_escaped(names.get(told.cell, told.cell))}, seed {told.seed}: {_escaped(told.sentence)}")
    if answers.command:
        lines += ["", "## Again", "", f"Played by {_escaped(answers.version)}:", "", f"    {answers.command}"]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from error


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(value: str) -> str:
    """Text from a log inside Markdown: no markup of its own, and no cell border."""
    plain = printable(value)
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in plain)
