"""What a report says beyond its tables: contrasts between arms, why episodes failed, and how to play it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emcoop.analysis.cells import Row, names_of, split_references
from emcoop.analysis.compare import DEFICITS, Comparison
from emcoop.analysis.decomposition import fewest_seeds
from emcoop.analysis.svg import text
from emcoop.analysis.table import seeds_of, spent
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
    """`contrasts` are of topologies under matched conditions, or `note` why there are none; `failures` the first of
    each cell; `version` what played, `command` how to play it again, and `study` the file that it names."""

    contrasts: tuple[Comparison, ...] = ()
    failures: tuple[Told, ...] = ()
    version: str = ""
    command: str = ""
    note: str = ""
    study: str = ""


def sections(rows: Sequence[Row], answers: Answers) -> list[str]:
    """The answers as HTML, for the report's page."""
    parts: list[str] = []
    if answers.contrasts:
        clear, others = _split(answers.contrasts)
        parts += ["<h2>Topologies against each other</h2>", f'<p class="note">{text(_HOW)}</p>']
        parts.append(f"<p>{text(_count(clear, others))}</p>")
        if clear:
            parts.append(_table(clear))
        if others:
            parts.append(f"<details><summary>The others</summary>{_table(others)}</details>")
    if answers.note:
        parts.append(f'<p class="warn">{text(answers.note)}</p>')
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
    if answers.study:
        lines = "\n".join(text(line) for line in answers.study.splitlines())
        parts.append(f"<details><summary>{_STUDY}</summary><pre>{lines}</pre></details>")
    return parts


_STUDY = "The file that this names, with all its values"
_HOW = "Paired by seed; 95 % BCa interval; sign-flip permutation test, Holm over the conditions of each metric."


_HEADS = ("contrast", "n", "a", "b", "a - b", "p", "p Holm", "d")
ALPHA = 0.05


def _split(contrasts: Sequence[Comparison]) -> tuple[list[Comparison], list[Comparison]]:
    """Those that differ beyond chance after Holm, and the others."""
    clear = [item for item in contrasts if item.contrast.adjusted is not None and item.contrast.adjusted <= ALPHA]
    return clear, [item for item in contrasts if item not in clear]


def _count(clear: Sequence[Comparison], others: Sequence[Comparison]) -> str:
    """How many there are; every metric is a family of its own, so that with several some are there by chance."""
    total, metrics = len(clear) + len(others), len({item.metric for item in (*clear, *others)})
    told = f"{len(clear)} of {total} contrasts differ beyond chance (Holm over the conditions of a metric, {ALPHA})."
    most, fewest = max(item.contrast.difference.n for item in (*clear, *others)), fewest_seeds(total // metrics, ALPHA)
    if most < fewest:
        return f"{told} With {most} seeds none could, whatever its size; it takes at least {fewest}."
    if metrics == 1:
        return told
    by_chance = 1 - (1 - ALPHA) ** metrics
    return (
        f"{told} Were all topologies alike, {by_chance:.0%} of reports on {metrics} unrelated metrics would show some."
    )


def _table(contrasts: Sequence[Comparison]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _HEADS)
    body = "".join("<tr>" + "".join(f"<td>{text(c)}</td>" for c in line) + "</tr>" for line in _lines(contrasts))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _lines(contrasts: Sequence[Comparison]) -> list[list[str]]:
    lines = []
    for item in contrasts:
        c = item.contrast
        arms = " - ".join(" ".join(arm.values()) for arm in (item.a, item.b))
        where = ", ".join(
            filter(None, (f"{item.where.get('env', '')} {item.where.get('level', '')}".strip(), _agents(item)))
        )
        p = ["-" if v is None else f"{v:.4f}" for v in (c.p, c.adjusted)]
        difference = f"{number(c.difference.mean)} {interval(c.difference)}".strip()
        what = f"{item.metric}: {arms} ({where})"
        lines.append([what, str(c.difference.n), number(c.a.mean), number(c.b.mean), difference, *p, number(c.d)])
    return lines


def _agents(item: Comparison) -> str:
    return f"{item.where['agents']} agents" if "agents" in item.where else ""


def _where(rows: Sequence[Row], cell: str) -> str:
    row = next((row for row in rows if row.cell == cell), None)
    return f"{row.env} {row.level}, {row.agents} agents" if row else ""


def write_markdown(rows: Sequence[Row], answers: Answers, path: Path, title: str = "emcoop report") -> None:
    """The same report as Markdown, without pictures. Raises ConfigError when the file cannot be written."""
    own, references = split_references(rows)
    names = names_of(rows)
    shown = ("success", "progress", *PAPER, *DEFICITS)
    lines = [f"# {title}", "", f"{sum(r.n for r in rows)} finished episodes; {seeds_of(rows)}; {spent(rows)}.", ""]
    lines += [_row(["task", "team", "n", *shown]), _row(["---"] * (3 + len(shown)))]
    for row in [*own, *references]:
        team = f"{row.role}: {names[row.cell]}" if row.role else names[row.cell]
        values = [f"{number(row.estimate(m).mean)} {interval(row.estimate(m))}".strip() for m in shown]
        lines.append(_row([f"{row.env} {row.level} x{row.agents}", team, str(row.n), *values]))
    if answers.contrasts:
        clear, others = _split(answers.contrasts)
        lines += ["", "## Topologies against each other", "", _HOW, _count(clear, others), ""]
        if clear:
            lines += [_row(_HEADS), _row(["---"] * len(_HEADS)), *(_row(line) for line in _lines(clear))]
    if answers.note:
        lines += ["", _escaped(answers.note)]
    if answers.failures:
        lines += ["", "## Why episodes failed", ""]
        for told in answers.failures:
            lines.append(f"- {_escaped(names.get(told.cell, told.cell))}, seed {told.seed}: {_escaped(told.sentence)}")
    if answers.command:
        lines += ["", "## Again", "", f"Played by {_escaped(answers.version)}:", "", f"    {answers.command}"]
    if answers.study:
        lines += ["", f"{_STUDY}:", "", *(f"    {printable(line)}" for line in answers.study.splitlines())]
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
