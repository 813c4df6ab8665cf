"""One frame of MA-Crafter as SVG, in own drawn tiles: the part of the world around the team."""

from __future__ import annotations

from itertools import groupby

from emcoop.envs.ma_crafter.constants import (
    ARROW,
    COAL,
    COL,
    COW,
    DEAD,
    DIAMOND,
    FACING,
    FURNACE,
    GRASS,
    HEALTH,
    IRON,
    KIND,
    LAVA,
    MOB_DIRECTION,
    PATH,
    PLANT,
    RIPE,
    ROW,
    SAND,
    SKELETON,
    SLEEPING,
    STONE,
    TABLE,
    TIMER,
    TREE,
    VIEW_COLS,
    VIEW_ROWS,
    WATER,
    ZOMBIE,
)
from emcoop.envs.ma_crafter.light import daylight
from emcoop.envs.ma_crafter.state import CrafterState

CELL = 20
"""Every drawing below is for a tile of 20 x 20."""

_GROUND = {
    WATER: "#5b9bd0",
    GRASS: "#a8cf8a",
    STONE: "#9b9b9b",
    PATH: "#cfc4b0",
    SAND: "#ead9a0",
    TREE: "#a8cf8a",
    LAVA: "#e4692e",
    COAL: "#9b9b9b",
    IRON: "#9b9b9b",
    DIAMOND: "#9b9b9b",
    TABLE: "#cfc4b0",
    FURNACE: "#cfc4b0",
}
_THINGS = {
    WATER: '<path d="M3 8q3-3 6 0t6 0M4 14q3-3 6 0t6 0" stroke="#8fc0e6" fill="none"/>',
    STONE: '<path d="M2 7h7v5M11 3v6h7M5 17v-5h9v6" stroke="#868686" fill="none"/>',
    TREE: '<rect x="8.5" y="12" width="3" height="7" fill="#7a5230"/><circle cx="10" cy="8" r="6.5" fill="#3f7d3a"/>',
    LAVA: '<path d="M3 7q3-3 6 0t6 0M5 14q3-3 6 0t5 0" stroke="#ffc04d" fill="none" stroke-width="1.5"/>',
    COAL: '<g fill="#222"><circle cx="6" cy="7" r="2.6"/><circle cx="13" cy="6" r="2"/>'
    '<circle cx="11" cy="13" r="3"/></g>',
    IRON: '<g fill="#e0b08a"><circle cx="6" cy="7" r="2.6"/><circle cx="13" cy="6" r="2"/>'
    '<circle cx="11" cy="13" r="3"/></g>',
    DIAMOND: '<path d="M10 3l5 6-5 8-5-8z" fill="#e8fbff" stroke="#5fc3dd"/>',
    TABLE: '<rect x="2" y="5" width="16" height="5" fill="#a5713f" stroke="#6d4a28"/>'
    '<path d="M4 10v7M16 10v7" stroke="#6d4a28" stroke-width="2"/>',
    FURNACE: '<rect x="2" y="2" width="16" height="16" fill="#6f6f6f" stroke="#444"/>'
    '<rect x="6" y="9" width="8" height="6" fill="#f0862e"/>',
}
_MOBS = {
    COW: '<rect x="3" y="6" width="14" height="9" rx="3" fill="#6e4b33"/><rect x="7" y="7" width="5" height="4" '
    'fill="#f3e9df"/><path d="M5 15v3M15 15v3" stroke="#6e4b33" stroke-width="2"/>',
    ZOMBIE: '<rect x="5" y="3" width="10" height="14" rx="3" fill="#4d8a4f"/>'
    '<g fill="#c22"><circle cx="8" cy="7" r="1.3"/><circle cx="12" cy="7" r="1.3"/></g>',
    SKELETON: '<rect x="5" y="3" width="10" height="14" rx="4" fill="#eee" stroke="#777"/>'
    '<circle cx="8" cy="8" r="1.5"/><circle cx="12" cy="8" r="1.5"/>',
    PLANT: '<path d="M10 18V8M10 13l-5-4M10 11l5-4" stroke="#2f6b2b" stroke-width="2" fill="none"/>',
}
_RIPE = '<circle cx="10" cy="6" r="3.5" fill="#d1495b"/>'
_ARROWS = {
    1: "M17 10H4l4-3M4 10l4 3",
    2: "M3 10h13l-4-3M16 10l-4 3",
    3: "M10 17V4l-3 4M10 4l3 4",
    4: "M10 3v13l-3-4M10 16l3-4",
}
_FACING = {1: "M0 10l4-3v6z", 2: "M20 10l-4-3v6z", 3: "M10 0l-3 4h6z", 4: "M10 20l-3-4h6z"}
_AGENTS = ("#d1495b", "#edae49", "#00798c", "#7b5ea7", "#b5651d", "#2c5278", "#8c564b", "#444444")

MARGIN = 2
"""Cells shown around what the agents see."""
DARKEST = 0.45
"""How dark the deepest night is drawn."""


def render(state: CrafterState) -> str:
    """The state as an SVG document: the smallest rectangle that holds every agent's view, and a margin."""
    top, bottom, left, right = frame(state)
    width, height = (right - left) * CELL, (bottom - top) * CELL
    night = DARKEST * (1 - daylight(state.step))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 18}" width="{width}" '
        f'height="{height + 18}" font-family="sans-serif" text-anchor="middle">',
        f'<rect width="{width}" height="{height + 18}" fill="#ffffff"/>',
    ]
    for row in range(top, bottom):
        parts += _row(state, row, left, right, (row - top) * CELL)
    if night >= 0.02:
        parts.append(f'<rect width="{width}" height="{height}" fill="#101840" opacity="{night:.2f}"/>')
    for i, body in enumerate(state.agents.tolist()):
        if not body[DEAD]:
            parts.append(_agent(state, i, (body[COL] - left) * CELL, (body[ROW] - top) * CELL))
    parts.append(
        f'<text x="{width / 2:g}" y="{height + 13}" font-size="12" fill="#333333">step {state.step}, rows {top} to '
        f"{bottom - 1}, columns {left} to {right - 1}</text></svg>"
    )
    return "\n".join(parts)


def frame(state: CrafterState) -> tuple[int, int, int, int]:
    """(first row, last row + 1, first column, last column + 1) of what is drawn."""
    living = [body for body in state.agents.tolist() if not body[DEAD]] or state.agents.tolist()
    rows, cols = [body[ROW] for body in living], [body[COL] for body in living]
    high, wide = VIEW_ROWS // 2 + MARGIN, VIEW_COLS // 2 + MARGIN
    most_rows, most_cols = state.shape
    return (
        max(0, min(rows) - high),
        min(most_rows, max(rows) + high + 1),
        max(0, min(cols) - wide),
        min(most_cols, max(cols) + wide + 1),
    )


def _row(state: CrafterState, row: int, left: int, right: int, y: int) -> list[str]:
    """The ground of a row as runs of one colour, then its things and mobs."""
    ground = [int(material) for material in state.material[row, left:right]]
    parts, x = [], 0
    for colour, run in groupby(_GROUND[material] for material in ground):
        width = sum(CELL for _ in run)
        parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{CELL}" fill="{colour}"/>')
        x += width
    for k, material in enumerate(ground):
        body = int(state.occupant[row, left + k])
        drawing = _THINGS.get(material, "") + (_mob(state, -body - 1) if body < 0 else "")
        if drawing:
            parts.append(f'<g transform="translate({k * CELL} {y})">{drawing}</g>')
    return parts


def _mob(state: CrafterState, slot: int) -> str:
    mob = state.mobs[slot].tolist()
    if mob[KIND] == ARROW:
        return f'<path d="{_ARROWS.get(mob[MOB_DIRECTION], _ARROWS[4])}" stroke="#333" fill="none"/>'
    return _MOBS[mob[KIND]] + (_RIPE if mob[KIND] == PLANT and mob[TIMER] > RIPE else "")


def _agent(state: CrafterState, i: int, x: int, y: int) -> str:
    """A numbered disc with a nose in its facing, and its health as a bar; paler when it sleeps."""
    body, health = state.agents[i].tolist(), int(state.inventory[i, HEALTH])
    colour, pale = _AGENTS[i % len(_AGENTS)], ' opacity="0.6"' if body[SLEEPING] else ""
    return (
        f'<g transform="translate({x} {y})"{pale}>'
        f'<path d="{_FACING[body[FACING]]}" fill="{colour}"/>'
        f'<circle cx="10" cy="10" r="7" fill="{colour}" stroke="#fff"/>'
        f'<text x="10" y="13.5" font-size="10" fill="#ffffff">{i}</text>'
        f'<rect x="1" y="18" width="{2 * health}" height="2" fill="#c22"/></g>'
    )
