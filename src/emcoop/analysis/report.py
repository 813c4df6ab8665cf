"""The report: one HTML file that needs nothing else, of a log's rows, charts and definitions.

Whatever comes from a log is escaped, frames are embedded as images (an image runs no script), and the page forbids
itself every outside resource.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from emcoop.analysis.answers import Answers, sections
from emcoop.analysis.cells import EpisodeRecord, Row, names_of, split_references, summarise
from emcoop.analysis.compare import DEFICITS
from emcoop.analysis.figures import figures
from emcoop.analysis.stats import Estimate
from emcoop.analysis.svg import Point, dot_chart, legend, text, timeline
from emcoop.analysis.table import exclusions, seeds_of, spent, tokens
from emcoop.analysis.words import interval, limits, number
from emcoop.core.errors import ConfigError, MissingDependency
from emcoop.metrics import Direction, Trace, load_metric

NO_ANSWERS = Answers()
KEY_METRICS = ("M1", "M6", "M13")
Frame = tuple[str, str]
"""A caption and an SVG document."""

_STYLE = """
:root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--faint:#6a6a6a;--rule:#d8d8d8;--dot:#2f5f98;--other:#8a6d3b}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#161616;--faint:#a0a0a0;--rule:#3a3a3a;--dot:#8ab4f0;
--other:#d9b46c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:72rem;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.2rem;border-bottom:1px solid var(--rule)}h3{font-size:1.05rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--rule);vertical-align:top}
th:first-child,td:first-child{text-align:left}thead th{vertical-align:bottom}
small,.note,.axis{color:var(--faint)}td small,th small{display:block;white-space:nowrap}td:first-child{min-width:15rem}
tr.floor,tr.ceiling{color:var(--faint)}.warn{color:var(--other)}
.chart{max-width:100%;height:auto;display:block;margin:.6rem 0;font:12px system-ui,sans-serif}
.chart text{fill:var(--ink)}.chart .axis{fill:var(--faint);font-size:11px}.chart .head{font-weight:600;font-size:13px}
.chart .grid{stroke:var(--rule)}.chart circle{fill:var(--dot)}.chart .bar{stroke:var(--dot);stroke-width:2}
.chart .floor circle,.chart .ceiling circle{fill:var(--other)}
.chart .floor .bar,.chart .ceiling .bar{stroke:var(--other)}
.chart .mark{fill:var(--ink)}.key{margin-right:1.2rem}
.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
.figure svg{max-width:100%;height:auto;overflow:visible}.figure svg text{fill:var(--ink)}
figure{margin:1rem 0}figure img{max-width:26rem;width:100%;background:#fff}dt{font-weight:600;margin-top:.6rem}
dd{margin:0;white-space:pre-line}
"""


def write_report(
    rows: Sequence[Row],
    path: Path,
    *,
    title: str = "emcoop report",
    frames: Sequence[Frame] = (),
    episode: tuple[EpisodeRecord, Trace] | None = None,
    answers: Answers = NO_ANSWERS,
) -> None:
    """Write the report of these cells to `path`, all of it or nothing.

    `frames` are pictures of the world, `episode` is the one whose timeline is drawn (see `choose_episode`), `answers`
    what analyses have to say. Raises ConfigError when the file cannot be written.
    """
    _write(path, page(rows, title=title, frames=frames, episode=episode, answers=answers))


def choose_episode(records: Iterable[EpisodeRecord]) -> EpisodeRecord | None:
    """The finished episode with most to see: interruptions, then messages, then plans; the first of equals."""
    finished = [record for record in records if record.status == "finished"]
    return max(finished, key=lambda r: tuple(r.metrics.get(name) or 0.0 for name in ("M10", "M6", "M9")), default=None)


def page(
    rows: Sequence[Row],
    *,
    title: str = "emcoop report",
    frames: Sequence[Frame] = (),
    episode: tuple[EpisodeRecord, Trace] | None = None,
    answers: Answers = NO_ANSWERS,
) -> str:
    """The report as one HTML document."""
    parts = [
        f"<h1>{text(title)}</h1>",
        *_seeds(rows),
        *_outcome(rows),
        *_figures(rows),
        *_violations(rows),
        *_metrics(rows),
        *_charts(rows),
    ]
    parts.extend(sections(rows, answers))
    if episode is not None:
        parts.extend(_episode(*episode))
    parts.extend(_frames(frames))
    parts.extend(_definitions(rows))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _seeds(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["<p>This run has no episodes.</p>"]
    finished = sum(row.n for row in rows)
    return [
        f"<p>{len(rows)} cells, {finished} finished episodes, {text(seeds_of(rows))}. Official splits: dev 0-99, test "
        "9000-9099. Numbers are means over the finished episodes of a cell; intervals are 95 %: Wilson for success, "
        "BCa bootstrap over seeds for the rest.</p>",
        f"<p>All of these episodes together: {text(spent(rows))}.</p>",
    ]


def _groups(rows: Sequence[Row]) -> list[tuple[str, list[Row], list[Row]]]:
    """Each task's heading, its rows and its references."""
    own, references = split_references(rows)
    groups = []
    for group in dict.fromkeys(row.group for row in rows):
        env, level, agents = group
        heading = f"{env} {level}, {agents} agent{'s' if agents != 1 else ''}"
        mine = [row for row in own if row.group == group]
        groups.append((heading, mine, [row for row in references if row.group == group]))
    return groups


def _outcome(rows: Sequence[Row]) -> list[str]:
    parts = ["<h2>Outcome</h2>"]
    names = names_of(rows)
    head = "".join(f"<th>{h}</th>" for h in ("team", "n", "success", "progress", "steps", "messages", "tokens", "cost"))
    for heading, own, references in _groups(rows):
        lines = "".join(_outcome_line(row, names) for row in [*own, *references])
        parts.append(f"<h3>{text(heading)}</h3>")
        parts.append(_table(f"{head}<th>ended by</th>", lines))
        for row in [*own, *references]:
            if exclusions(row):
                parts.append(f'<p class="warn">{text(names[row.cell])}: {text(exclusions(row))}</p>')
    return parts


def _outcome_line(row: Row, names: dict[str, str]) -> str:
    role = f"{row.role}: " if row.role else ""
    cost = row.extras["cost_usd"].mean
    cells = [
        text(role + names[row.cell]),
        str(row.n),
        _value(row.success),
        _value(row.progress),
        number(row.extras["steps"].mean),
        number(row.metrics["M6"].mean),
        number(tokens(row)),
        "unknown" if cost is None else f"${number(cost)}",
        text(", ".join(limits(row.limits).split("\n"))),
    ]
    return f'<tr class="{row.role}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _violations(rows: Sequence[Row]) -> list[str]:
    """Per team how far each kind of constraint fell short while somebody tried (paper, RQ1: violated constraints)."""
    shown = [row for row in split_references(rows)[0] if any(row.extras[name].n for name in DEFICITS)]
    if not shown:
        return []
    note = "Share of the agents that a task needs who did not satisfy the constraint, mean over all attempts at it."
    parts = ["<h2>Which constraints fell short</h2>", f'<p class="note">{note}</p>']
    names = names_of(rows)
    head = "<th>team</th><th>n</th>" + "".join(f"<th>{name.removeprefix('deficit_')}</th>" for name in DEFICITS)
    for heading, own, _ in _groups(rows):
        mine = [row for row in own if row in shown]
        lines = []
        for row in mine:
            values = "".join(f"<td>{_value(row.extras[name], row.n)}</td>" for name in DEFICITS)
            lines.append(f"<tr><td>{text(names[row.cell])}</td><td>{row.n}</td>{values}</tr>")
        if mine:
            parts += [f"<h3>{text(heading)}</h3>", _table(head, "".join(lines))]
    return parts


def _metrics(rows: Sequence[Row]) -> list[str]:
    parts = ["<h2>Cooperation metrics</h2>"]
    names = names_of(rows)
    for heading, own, references in _groups(rows):
        shown = [*own, *references]
        head = "<th>metric</th>" + "".join(f"<th>{text(names[r.cell])}<small>n = {r.n}</small></th>" for r in shown)
        parts += [f"<h3>{text(heading)}: M1-M18</h3>", _table(head, "".join(_lines(shown, list(shown[0].metrics))))]
        more = "".join(_lines(shown, list(shown[0].extras)))
        parts.append(f"<details><summary>All other metrics</summary>{_table(head, more)}</details>")
    return parts


def _lines(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    lines = []
    for name in names:
        found = load_metric(name)
        title = f"{text(found.title)}<small>{text(found.unit)}</small>"
        cells = "".join(f"<td>{_value(row.estimate(name), row.n)}</td>" for row in rows)
        lines.append(f"<tr><td>{text(name)} {title}</td>{cells}</tr>")
    return lines


def _value(estimate: Estimate, n: int | None = None) -> str:
    own_n = f" n={estimate.n}" if n is not None and 0 < estimate.n != n else ""
    below = " ".join(filter(None, (interval(estimate), own_n)))
    return number(estimate.mean) + (f"<small>{below}</small>" if below else "")


def _figures(rows: Sequence[Row]) -> list[str]:
    """The radars and bars of the paper's figure 3, where several teams are to be told apart."""
    try:
        drawn = figures(rows)
    except MissingDependency as error:
        return [f'<p class="note">{text(error)}</p>']
    parts = []
    for figure in drawn:
        parts.append(f"<h2>{text(figure.title)}</h2>")
        picture = f'<div class="figure">{figure.svg}</div>' if figure.svg else ""
        parts.append(f'{picture}<p class="note">{text(figure.caption)}</p>')
    return parts


def _charts(rows: Sequence[Row]) -> list[str]:
    parts = ["<h2>Side by side</h2>"]
    names = names_of(rows)
    for heading, own, references in _groups(rows):
        shown = [*own, *references]
        parts.append(f"<h3>{text(heading)}</h3>")
        points = [Point(names[row.cell], row.success, row.role or "team") for row in shown]
        parts.append(dot_chart("success", points, unit_interval=True))
        for name in KEY_METRICS:
            found = load_metric(name)
            points = [Point(names[row.cell], row.metrics[name], row.role or "team") for row in shown]
            parts.append(dot_chart(f"{name} {found.title}", points, unit_interval=found.unit == "share"))
    return parts


def _episode(record: EpisodeRecord, trace: Trace) -> list[str]:
    (row,) = summarise([record])
    name = names_of([row])[row.cell]
    about = f"{row.env} {row.level}, {row.agents} agents, {name}, seed {record.seed}, episode {record.id}"
    end = f"{len(trace.steps)} steps, {len(trace.messages)} messages, ended by {trace.limit or 'nothing'}"
    return [
        "<h2>One episode</h2>",
        f"<p>{text(about)}: {text(end)}. Horizontal: simulated time.</p>",
        legend(),
        f'<div class="scroll">{timeline(trace)}</div>',
    ]


def _frames(frames: Sequence[Frame]) -> list[str]:
    parts = ["<h2>The world</h2>"] if frames else []
    for caption, svg in frames:
        data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
        image = f'<img alt="{text(caption)}" src="data:image/svg+xml;base64,{data}">'
        parts.append(f"<figure>{image}<figcaption>{text(caption)}</figcaption></figure>")
    return parts


def _definitions(rows: Sequence[Row]) -> list[str]:
    parts = ["<h2>Definitions</h2>", '<p class="note">T is the number of environment steps.</p>', "<dl>"]
    for name in dict.fromkeys(name for row in rows for name in ("success", "progress", *row.metrics, *row.extras)):
        found = load_metric(name)
        better = "" if found.direction == Direction.NONE else f"; {found.direction} is better"
        parts.append(f"<dt>{text(name)} {text(found.title)} ({text(found.unit)}{better})</dt>")
        parts.append("<dd>" + "\n".join(text(line) for line in found.definition.splitlines()) + "</dd>")
    return [*parts, "</dl>"]


def _table(head: str, body: str) -> str:
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _write(path: Path, page: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(page, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: the report cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
