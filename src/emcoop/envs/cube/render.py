"""One frame of CUBE as SVG: blocks in shades by weight with their id and weight, agents as numbered discs."""

from __future__ import annotations

from emcoop.envs.cube.state import CubeState

CELL = 40
_BLOCKS = ("#c9d8e6", "#8fb0cc", "#5f8cb3", "#3f6d96", "#2c5278")
_AGENTS = ("#d1495b", "#edae49", "#66a182", "#7b5ea7", "#00798c", "#b5651d", "#6b8e23", "#8c564b")


def render(state: CubeState) -> str:
    """The state as an SVG document of K x K cells of 40 px (smaller for large grids)."""
    side = state.side
    cell = CELL if side <= 24 else max(2, 960 // side)
    size = side * cell
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size + 18}" width="{size}" height="{size + 18}" '
        'font-family="sans-serif" text-anchor="middle">',
        f'<rect width="{size}" height="{size + 18}" fill="#ffffff"/>',
        f'<rect x="{size - cell}" width="{cell}" height="{size}" fill="#d8ecd0"/>',
    ]
    if cell >= 8:
        lines = "".join(f"M{k * cell} 0V{size}M0 {k * cell}H{size}" for k in range(side + 1))
        parts.append(f'<path d="{lines}" stroke="#dddddd" fill="none"/>')
    for b, (row, col, weight) in enumerate(state.blocks.tolist()):
        if state.alive[b]:
            parts.append(_block(b, row, col, weight, cell))
    for i, (row, col) in enumerate(state.agents.tolist()):
        parts.append(_agent(i, row, col, cell))
    left = int(state.alive.sum())
    parts.append(
        f'<text x="{size / 2:g}" y="{size + 13}" font-size="12" fill="#333333">'
        f"step {state.step}, {left} of {len(state.blocks)} blocks left</text></svg>"
    )
    return "\n".join(parts)


def _block(b: int, row: int, col: int, weight: int, cell: int) -> str:
    x, y, width = col * cell, row * cell, weight * cell
    fill = _BLOCKS[min(weight, len(_BLOCKS)) - 1]
    ink = "#1b2a38" if weight < 3 else "#ffffff"
    box = (
        f'<rect x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{width - 2}" rx="3" '
        f'fill="{fill}" stroke="#2c5278"/>'
    )
    if cell < 20:
        return box
    size = 10 if weight == 1 else 13
    text = (
        f'<text x="{x + width / 2:g}" y="{y + width / 2 + 4:g}" font-size="{size}" fill="{ink}">#{b} w{weight}</text>'
    )
    return box + text


def _agent(i: int, row: int, col: int, cell: int) -> str:
    x, y = (col + 0.5) * cell, (row + 0.5) * cell
    disc = f'<circle cx="{x:g}" cy="{y:g}" r="{cell * 0.36:g}" fill="{_AGENTS[i % len(_AGENTS)]}"/>'
    if cell < 20:
        return disc
    return disc + f'<text x="{x:g}" y="{y + 5:g}" font-size="14" fill="#ffffff">{i}</text>'
