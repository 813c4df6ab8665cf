"""Small inline charts: means with intervals side by side, and the stages of one episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from emcoop.analysis.stats import Estimate
from emcoop.analysis.words import interval, number, printable
from emcoop.core.types import SECOND, Stage
from emcoop.metrics import Trace

STAGES = {
    Stage.REASON: ("reason", "#4c78a8"),
    Stage.EXECUTE: ("execute", "#54a24b"),
    Stage.WAIT: ("wait", "#b8b8b8"),
    Stage.INTERRUPT: ("interrupt", "#e45756"),
}
LABELS, LETTER, LONGEST = 210, 7.4, 72
"""The least width of a chart's labels and that of a wide font's letters, in pixels; longer labels are cut."""

MAX_MARKS = 4000
"""A timeline with more bars than this shows the episode's beginning only, and says so."""


@dataclass(frozen=True, slots=True)
class Point:
    """One line of a dot chart; `kind` is ``team``, ``floor`` or ``ceiling``."""

    label: str
    estimate: Estimate
    kind: str = "team"


def text(value: object) -> str:
    """Any text, safe inside HTML and SVG, attributes included."""
    return escape(printable(str(value)), quote=True)


def dot_chart(title: str, points: Sequence[Point], *, unit_interval: bool = False) -> str:
    """A horizontal axis from 0, one line per point: a dot at the mean, a bar over its 95 % interval.

    The axis ends at 1 for a `unit_interval`, else at the largest value shown.
    """
    longest = max((len(_short(p.label)) for p in points), default=0)
    left, row, top = max(LABELS, round(longest * LETTER) + 8), 20, 26
    width = left + 350
    highest = max((max(p.estimate.mean or 0.0, p.estimate.high or 0.0) for p in points), default=0.0)
    end = 1.0 if unit_interval else highest or 1.0
    scale = (width - left - 70) / end
    height = top + row * len(points) + 22
    parts = [
        f'<svg class="chart" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{text(title)}</title>",
        f'<text x="0" y="14" class="head">{text(title)}</text>',
    ]
    for share in (0.0, 0.5, 1.0):
        x = left + share * end * scale
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{height - 18}"/>')
        parts.append(
            f'<text class="axis" x="{x:.1f}" y="{height - 4}" text-anchor="middle">{number(share * end)}</text>'
        )
    for index, point in enumerate(points):
        parts.append(_point(point, left, scale, top + row * index + row // 2, width))
    return "".join([*parts, "</svg>"])


def _point(point: Point, left: int, scale: float, y: int, width: int) -> str:
    shown = point.estimate
    parts = [
        f'<g class="{text(point.kind)}"><title>{text(point.label)}: {number(shown.mean)} {interval(shown)}'
        f" n={shown.n}</title>",
        f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{text(_short(point.label))}</text>',
    ]
    if shown.low is not None and shown.high is not None:
        ends = f'x1="{left + shown.low * scale:.1f}" x2="{left + shown.high * scale:.1f}"'
        parts.append(f'<line class="bar" {ends} y1="{y}" y2="{y}"/>')
    if shown.mean is not None:
        parts.append(f'<circle cx="{left + shown.mean * scale:.1f}" cy="{y}" r="4"/>')
    parts.append(f'<text class="axis" x="{width}" y="{y + 4}" text-anchor="end">{number(shown.mean)}</text></g>')
    return "".join(parts)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def timeline(trace: Trace) -> str:
    """R, X, W and I of every agent over simulated time, messages as ticks above their sender's line."""
    left, width, row, top = 80, 900, 26, 8
    scale = (width - left - 10) / max(trace.end, 1)
    base = top + row * len(trace.team)
    parts = [
        f'<svg class="chart" role="img" viewBox="0 0 {width} {base + 22}" width="{width}" height="{base + 22}">',
        "<title>Stages of each agent over simulated time</title>",
    ]
    marks = 0
    for index, agent in enumerate(trace.team):
        y = top + row * index
        parts.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{text(agent)}</text>')
        for stay in trace.stages[agent][: MAX_MARKS // max(len(trace.team), 1)]:
            marks += 1
            name, colour = STAGES[stay.stage]
            x, span = left + stay.start * scale, (stay.end - stay.start) * scale
            seconds = f"{stay.start / SECOND:.2f} to {stay.end / SECOND:.2f} s"
            parts.append(
                f'<rect x="{x:.2f}" y="{y + 6}" width="{max(span, 0.2):.2f}" height="16" fill="{colour}">'
                f"<title>{text(agent)}: {name}, {seconds}</title></rect>"
            )
    for message in trace.messages[:MAX_MARKS]:
        x, y = left + message.time * scale, top + row * trace.team.index(message.sender)
        parts.append(f'<path class="mark" d="M{x:.1f} {y + 5}l-3 -5h6z"/>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, seconds = left + share * trace.end * scale, f"{share * trace.end / SECOND:.1f} s"
        anchor = "end" if share == 1.0 else "middle"  # nothing may stand beyond the picture
        parts.append(f'<text class="axis" x="{x:.1f}" y="{base + 16}" text-anchor="{anchor}">{seconds}</text>')
    drawn = marks == sum(map(len, trace.stages.values())) and len(trace.messages) <= MAX_MARKS
    note = "" if drawn else "<p>Only the beginning of this long episode is drawn.</p>"
    return "".join([*parts, "</svg>", note])


def legend() -> str:
    """What the timeline's colours mean."""
    keys = "".join(
        f'<span class="key"><i style="background:{c}"></i>{stage.value} {name}</span>'
        for stage, (name, c) in STAGES.items()
    )
    return f'<p class="legend">{keys}<span class="key">▼ message sent</span></p>'
