"""Charts of cost against size on logarithmic scales, as plain SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, exp, floor, log, log10

from benchmarks.common import Timing, show

WIDTH, HEIGHT, PER_ROW = 300, 220, 3
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 40, 40
INK, GRID, DOT, LINE = "#333", "#ddd", "#4c78a8", "#e45756"


@dataclass(frozen=True, slots=True)
class Curve:
    """The cost at each size, and the power law ``factor * size ** exponent`` fitted to the medians."""

    title: str
    against: str
    unit: str
    sizes: tuple[int, ...]
    costs: tuple[Timing, ...]
    exponent: float
    factor: float
    interval: tuple[float, float]


def panels(curves: Sequence[Curve], title: str) -> str:
    """All curves side by side."""
    rows = ceil(len(curves) / PER_ROW)
    width, height = WIDTH * min(len(curves), PER_ROW), HEIGHT * rows
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for index, curve in enumerate(curves):
        x, y = index % PER_ROW * WIDTH, index // PER_ROW * HEIGHT
        parts.append(f'<g transform="translate({x} {y})">{_panel(curve)}</g>')
    return "".join([*parts, "</svg>\n"])


class _Axis:
    """A logarithmic scale from the values to pixels."""

    def __init__(self, values: Sequence[float], low: float, high: float) -> None:
        self.ends = log(min(values) * 0.85), log(max(values) * 1.18)
        self.low, self.high = low, high

    def __call__(self, value: float) -> float:
        first, last = self.ends
        return self.low + (log(value) - first) / (last - first) * (self.high - self.low)

    def ticks(self) -> list[float]:
        """1, 2, 5 in each decade, or only the decades when those are many."""
        first, last = exp(self.ends[0]), exp(self.ends[1])
        decades = range(floor(log10(first)), ceil(log10(last)) + 1)
        for steps in ((1, 2, 5), (1,)):
            found = [k * 10.0**d for d in decades for k in steps if first <= k * 10.0**d <= last]
            if len(found) <= 6:
                break
        return found


def _panel(curve: Curve) -> str:
    bounds = [bound for cost in curve.costs for bound in (cost.low, cost.high)]
    x = _Axis(curve.sizes, LEFT, WIDTH - RIGHT)
    y = _Axis(bounds, HEIGHT - BOTTOM, TOP)
    low, high = curve.interval
    law = f"cost ~ size^{curve.exponent:.2f} [{low:.2f}, {high:.2f}]"
    parts = [
        f'<text x="{LEFT}" y="16" font-weight="bold">{escape(curve.title)}</text>',
        f'<text x="{LEFT}" y="31" fill="{LINE}">{escape(law)}</text>',
    ]
    for tick in y.ticks():
        at = y(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="{GRID}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{show(tick)}</text>')
    for size in curve.sizes:
        at = x(size)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{GRID}"/>')
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{size}</text>')
    ends = curve.sizes[0], curve.sizes[-1]
    line = [(x(size), y(curve.factor * size**curve.exponent)) for size in ends]
    parts.append(
        f'<line x1="{line[0][0]:.1f}" y1="{line[0][1]:.1f}" x2="{line[1][0]:.1f}" y2="{line[1][1]:.1f}" '
        f'stroke="{LINE}" stroke-width="1.5"/>'
    )
    for size, cost in zip(curve.sizes, curve.costs, strict=True):
        at = x(size)
        spread = f'x1="{at:.1f}" x2="{at:.1f}" y1="{y(cost.low):.1f}" y2="{y(cost.high):.1f}"'
        parts.append(
            f'<line {spread} stroke="{DOT}"/><circle cx="{at:.1f}" cy="{y(cost.median):.1f}" r="3" fill="{DOT}"/>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(curve.against)}</text>'
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text transform="translate(12 {middle:.0f}) rotate(-90)" text-anchor="middle">{escape(curve.unit)}</text>'
    )
    return "".join(parts)
