"""The shapes of cooperation as in the paper's figure 3: a radar per condition, and bars of overhead and messages.

Drawn by Altair and turned into SVG by vl-convert, offline and in this process (extra ``plot``).
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emcoop.analysis.cells import Row, split_references
from emcoop.analysis.stats import Estimate
from emcoop.core.errors import MissingDependency
from emcoop.core.types import Json

COLOURS: Mapping[str, str] = {
    "individual": "#8f8f8f",
    "debate": "#d98c00",
    "centralized": "#2f78bd",
    "decentralized": "#b14f87",
}
"""The paper's topologies; told apart by all common kinds of colour sight, on white and on black."""

MORE_COLOURS = ("#2f78bd", "#d98c00", "#1d9a78", "#b14f87", "#8f8f8f", "#c8553d", "#6a5acd", "#7a8b2a")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
GREY = "#8888"
MOST_SERIES = len(MORE_COLOURS)
"""With more teams in one condition a radar cannot be read, and none is drawn."""

_LEFT_OUT = " Teams that an intervention has changed are left out here; the tables have them."
_TOO_MANY = f"Not drawn: more than {MOST_SERIES} teams in one picture cannot be told apart. The tables have them."

RADAR = 150
"""Pixels from side to side of a radar's plane, labels not counted."""

HEADING = 170
"""Pixels that the heading of bars takes."""

AXES: Mapping[str, str] = {
    "success": "success",
    "progress": "progress",
    "M13": "coherence",
    "stability": "stability",
    "M14": "capability gain",
    "M15": "spatial",
    "M16": "temporal",
    "M17": "dependency",
    "M18": "participation",
}
RINGS = (0.25, 0.5, 0.75, 1.0)
BARS: Mapping[str, str] = {"M1": "decision overhead per step", "M6": "messages"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One picture: its heading, what it shows in words, and the SVG document (empty where none was drawn)."""

    title: str
    caption: str
    svg: str


def figures(rows: Sequence[Row]) -> list[Figure]:
    """For every environment with several teams in one condition its radars and its bars; none where there is no such.

    Where all teams are too many for one picture, or two of a condition would have one name, those that no intervention
    has changed are drawn; where these are too many as well, the figure has no picture and says so. Raises
    MissingDependency without Altair or vl-convert.
    """
    own = [row for row in split_references(rows)[0] if row.n]
    labels = series_of(own)
    found: list[Figure] = []
    for env in dict.fromkeys(row.env for row in own):
        mine = [row for row in own if row.env == env]
        untouched = [row for row in mine if not row.interventions]
        if _legible(mine, labels):
            found += _figures_of(env, mine, labels, "")
        elif _legible(untouched, plain := series_of(untouched)):
            found += _figures_of(env, untouched, plain, _LEFT_OUT)
        elif len({labels[row.cell] for row in mine}) > MOST_SERIES:
            found.append(Figure(f"{env}: the shape of cooperation", _TOO_MANY, ""))
    return found


def _legible(rows: Sequence[Row], labels: Mapping[str, str]) -> bool:
    """Whether there are several teams, few enough for one picture, each with a name of its own in its condition."""
    lines = [(_condition(row), labels[row.cell]) for row in rows]
    return 1 < len({label for _, label in lines}) <= MOST_SERIES and len(set(lines)) == len(lines)


def series_of(rows: Sequence[Row]) -> dict[str, str]:
    """A label for each cell: what sets the teams of these rows apart, such as the topology alone."""
    parts = {row.cell: (row.topology, row.agent, row.model or "", " ".join(row.interventions)) for row in rows}
    differ = [i for i in range(4) if len({part[i] for part in parts.values()}) > 1] or [0]
    return {cell: " ".join(filter(None, (part[i] for i in differ))) or "untouched" for cell, part in parts.items()}


def radar_values(row: Row, largest_gain: float) -> dict[str, float | None]:
    """Every axis of the radar in [0, 1].

    Most are shares already; stability is 1 - interruptions per plan, and the capability gain is shown as a share of
    the largest of its environment.
    """
    values = {name: row.estimate(name).mean for name in AXES if name not in ("stability", "M14")}
    plans, interruptions, gain = (row.metrics[name].mean for name in ("M9", "M10", "M14"))
    values["stability"] = max(0.0, 1 - (interruptions or 0.0) / plans) if plans else None
    values["M14"] = None if gain is None or largest_gain <= 0 else gain / largest_gain
    return {name: values[name] for name in AXES}


def _figures_of(env: str, rows: Sequence[Row], labels: Mapping[str, str], note: str) -> list[Figure]:
    alt = _altair()
    names = list(dict.fromkeys(labels[row.cell] for row in rows))
    colours = alt.Scale(domain=list(names), range=[_colour(name, names) for name in names])
    n = sorted({row.n for row in rows})
    seeds = f"{n[0]}" if len(n) == 1 else f"{n[0]} to {n[-1]}"
    return [
        Figure(
            f"{env}: the shape of cooperation",
            f"Means over {seeds} seeds; the outer ring is 1. Stability: 1 - interruptions per plan. Capability gain: "
            "of the largest here. Spatial to participation: improvement ratios (M15-M18). What a team has no value "
            "of is drawn at the centre. The tables have intervals." + note,
            _svg(_radars(alt, rows, labels, colours)),
        ),
        Figure(
            f"{env}: what it costs",
            f"Means over {seeds} seeds with their 95 % intervals." + note,
            _svg(_bars(alt, rows, labels, names, colours)),
        ),
    ]


def _altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401 - Altair renders through it
    except ImportError:
        raise MissingDependency("radar and bar charts need Altair: pip install 'emcoop[plot]'") from None
    return altair


def _colour(name: str, names: Sequence[str]) -> str:
    if all(known in COLOURS for known in names):
        return COLOURS[name]
    return MORE_COLOURS[names.index(name)]


def _condition(row: Row) -> str:
    return f"{row.level}, {row.agents} agents"


def _radars(alt: Any, rows: Sequence[Row], labels: Mapping[str, str], colours: Any) -> Any:
    gain = max((row.metrics["M14"].mean or 0.0 for row in rows), default=0.0)
    values = {row.cell: radar_values(row, gain) for row in rows}
    shown = [axis for axis in AXES if any(found[axis] is not None for found in values.values())]
    charts = []
    for condition in dict.fromkeys(map(_condition, rows)):
        mine = [row for row in rows if _condition(row) == condition]
        points: list[dict[str, Json]] = []
        for row in mine:
            found = values[row.cell]
            for order, axis in enumerate([*shown, shown[0]]):
                x, y = _place(order, len(shown), found[axis] or 0.0)
                points.append({"team": labels[row.cell], "order": order, "x": x, "y": y})
        charts.append(_radar(alt, condition, points, shown, colours))
    return alt.concat(*charts, columns=4, spacing=28)


def _place(order: int, axes: int, value: float) -> tuple[float, float]:
    angle = 2 * math.pi * order / axes
    return round(value * math.sin(angle), 4), round(value * math.cos(angle), 4)


def _radar(alt: Any, title: str, points: list[dict[str, Json]], shown: Sequence[str], colours: Any) -> Any:
    count = len(shown)
    rings = [
        {"ring": ring, "order": order, "x": x, "y": y}
        for ring in RINGS
        for order in range(count + 1)
        for x, y in [_place(order, count, ring)]
    ]
    plane = alt.Scale(domain=[-1, 1], nice=False, zero=False)
    x, y = alt.X("x:Q", axis=None, scale=plane), alt.Y("y:Q", axis=None, scale=plane)
    order = alt.Order("order:Q")
    grid = alt.Chart(alt.Data(values=rings)).mark_line(color=GREY, strokeWidth=0.6)
    layers = [grid.encode(x=x, y=y, detail="ring:N", order=order)]
    for index, axis in enumerate(shown):
        (ex, ey), (tx, ty) = _place(index, count, 1.0), _place(index, count, 1.13)
        spoke = alt.Chart(alt.Data(values=[{"x": 0, "y": 0, "x2": ex, "y2": ey}]))
        layers.append(spoke.mark_rule(color=GREY, strokeWidth=0.6).encode(x=x, y=y, x2="x2", y2="y2"))
        align = "center" if abs(tx) < 0.2 else "left" if tx > 0 else "right"
        base = "middle" if abs(ty) < 0.9 else "bottom" if ty > 0 else "top"
        label = alt.Chart(alt.Data(values=[{"x": tx, "y": ty, "name": AXES[axis]}]))
        layers.append(label.mark_text(align=align, baseline=base, fontSize=10).encode(x=x, y=y, text="name:N"))
    dash = alt.StrokeDash("team:N", scale=alt.Scale(domain=colours.domain, range=list(_dashes(colours.domain))))
    team = alt.Color("team:N", scale=colours, legend=alt.Legend(title=None, orient="top", direction="horizontal"))
    lines = alt.Chart(alt.Data(values=points)).mark_line(strokeWidth=2, strokeOpacity=0.9)
    layers.append(lines.encode(x=x, y=y, color=team, strokeDash=dash, order=order))
    return alt.layer(*layers).properties(width=RADAR, height=RADAR, title=alt.Title(title, fontSize=12, offset=16))


def _dashes(names: Sequence[str]) -> list[list[int]]:
    return [DASHES[index % len(DASHES)] for index in range(len(names))]


def _bars(alt: Any, rows: Sequence[Row], labels: Mapping[str, str], names: Sequence[str], colours: Any) -> Any:
    conditions = list(dict.fromkeys(map(_condition, rows)))
    return alt.hconcat(
        *(_bar(alt, name, rows, labels, names, conditions, colours) for name in BARS), spacing=48, bounds="flush"
    )


def _bar(
    alt: Any,
    metric: str,
    rows: Sequence[Row],
    labels: Mapping[str, str],
    names: Sequence[str],
    conditions: Sequence[str],
    colours: Any,
) -> Any:
    data = [{"where": _condition(row), "team": labels[row.cell], **_ends(row.estimate(metric))} for row in rows]
    base = alt.Chart(alt.Data(values=data)).encode(
        x=alt.X(
            "where:N",
            sort=list(conditions),
            title=None,
            axis=alt.Axis(labelAngle=0, ticks=False, labelExpr="split(datum.label, ', ')"),
        ),
        xOffset=alt.XOffset("team:N", sort=list(names)),
    )
    team = alt.Color("team:N", scale=colours, legend=alt.Legend(title=None, orient="top", direction="horizontal"))
    axis = alt.Axis(tickCount=4, gridColor=GREY, gridWidth=0.6, domain=False)
    bars = base.mark_bar().encode(y=alt.Y("mean:Q", title=None, axis=axis), color=team)
    ends = base.mark_rule(strokeWidth=1.4, color="#666").encode(y="low:Q", y2="high:Q")
    width = max(HEADING, len(conditions) * max(64, 16 * len(names) + 12))
    return (bars + ends).properties(
        width=width, height=150, title=alt.Title(BARS[metric], fontSize=12, anchor="start", frame="group")
    )


def _ends(estimate: Estimate) -> dict[str, Json]:
    mean = estimate.mean
    return {
        "mean": mean,
        "low": mean if estimate.low is None else estimate.low,
        "high": mean if estimate.high is None else estimate.high,
    }


def _svg(chart: Any) -> str:
    """The chart as an SVG document without a background, so that it stands on white and on black."""
    text = io.StringIO()
    plain = chart.configure(background="transparent", font="system-ui, sans-serif").configure_view(stroke=None)
    plain.save(text, format="svg")
    return text.getvalue()
