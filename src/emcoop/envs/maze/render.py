"""One frame of the maze as SVG: everybody's copy side by side with the agreed way, and below what each believes.

Light and dark follow the reader's preference. Whatever was said is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from emcoop.envs.maze.grading import outcome
from emcoop.envs.maze.observe import copies
from emcoop.envs.maze.rules import Terms, on_turn, over
from emcoop.envs.maze.state import COUNTS, FINISH, HIDDEN, START, WALL, Cell, MazeState, moved

CELL, GAP, TOP, LINE = 34, 28, 46, 16
MOST_ACROSS = 4
"""So many copies stand in one row."""

TEXT_COLUMNS = 44
"""Characters of the last words that are shown under a copy, per line."""

TEXT_LINES = 3

_STYLE = """<style>
.mz{--bg:#fff;--ink:#1d2733;--dim:#6b7785;--free:#fff;--wall:#44505e;--hid:#e3e8ee;
--edge:#c3ccd6;--way:#c0392b;--start:#2b7a4b;--goal:#b8860b;--turn:#2f6db5}
@media (prefers-color-scheme:dark){.mz{--bg:#14181d;--ink:#e4e9ef;--dim:#93a0ae;--free:#2a323b;--wall:#8a97a6;
--hid:#1c2228;--edge:#3a4551;--way:#ff7f6e;--start:#6fcf97;--goal:#f2c94c;--turn:#7db4ff}}
.mz text{font-family:system-ui,sans-serif;fill:var(--ink)}.mz .d{fill:var(--dim)}
.mz .f{fill:var(--free);stroke:var(--edge)}.mz .w{fill:var(--wall)}.mz .h{fill:var(--hid)}
.mz .q{fill:var(--dim);font-size:13px;text-anchor:middle}.mz .e{fill:none;stroke:var(--edge)}
.mz .p{fill:none;stroke:var(--way);stroke-width:4;stroke-linecap:round;stroke-linejoin:round}
.mz .n{fill:none;stroke:var(--way);stroke-width:2.5;stroke-dasharray:4 4}
.mz .b{fill:none;stroke:var(--turn);stroke-width:2;stroke-dasharray:3 3}
.mz .s{fill:var(--start)}.mz .g{fill:var(--goal)}.mz .o{fill:var(--way);stroke:var(--bg);stroke-width:2}
.mz .m{font-size:19px;font-weight:700;text-anchor:middle;paint-order:stroke;stroke:var(--bg);stroke-width:4px}
.mz .t{fill:none;stroke:var(--turn);stroke-width:3}
</style>"""


def render(state: MazeState, terms: Terms, view: str) -> str:
    """The state as an SVG document: one panel per copy, a line on the agreement above, one per agent below."""
    panels = [(i, rows) for i in range(state.team) for rows in copies(state, i, view)]
    n, across = state.maze.size, min(MOST_ACROSS, len(panels))
    side = n * CELL
    span = max(side, 260)
    below = 2 * LINE + 8 + (TEXT_LINES * LINE if terms.free else 0)
    rows_of = -(-len(panels) // across)
    width = across * span + (across + 1) * GAP
    height = TOP + rows_of * (side + 24 + below) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mz" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}">',
        _STYLE,
        f'<rect width="{width}" height="{height}" style="fill:var(--bg)"/>',
        _text(GAP, 24, _headline(state, terms), 15, bold=True),
        _text(GAP, 42, _proposal(state, terms), 13, "d"),
    ]
    found = outcome(state, terms)
    for k, (agent, rows) in enumerate(panels):
        x, y = GAP + (k % across) * (span + GAP), TOP + 24 + (k // across) * (side + 24 + below)
        parts.append(f'<g transform="translate({x} {y})">')
        parts += _panel(state, terms, agent, rows, found.path, found.hit)
        parts.append("</g>")
    parts.append("</svg>")
    return "\n".join(parts)


def _headline(state: MazeState, terms: Terms) -> str:
    turn = f"turn {min(state.step, terms.turns)} of {terms.turns}"
    if not over(state, terms):
        return f"{turn}: agent {on_turn(state)} speaks"
    how = {
        "goal": "the goal is reached",
        "wall": "a step into a wall",
        "done": "agreed to end",
        "phrase": "declared finished",
    }
    return f"{turn}: over, {how.get(state.ended, 'no turns left')}"


def _proposal(state: MazeState, terms: Terms) -> str:
    if terms.free:
        found = outcome(state, terms)
        if found.unresolved:
            return f"from the words: unresolved ({found.unresolved.replace('_', ' ')})"
        return f"from the words ({found.scheme}): {_moves(len(found.path) - 1)}"
    moves = _moves(len(state.path) - 1)
    if state.pending is None:
        return f"{moves}; nothing is proposed"
    what = "to end here" if state.pending.what == FINISH else f"{state.pending.what}"
    agreed = ", ".join(f"agent {k}" for k in state.pending.agreed)
    return f"{moves}; proposed: {what}, by agent {state.pending.by} (agreed: {agreed})"


def _moves(count: int) -> str:
    return f"{count} move{'s' if count != 1 else ''} agreed"


def _panel(
    state: MazeState, terms: Terms, agent: int, rows: tuple[str, ...], path: tuple[Cell, ...], hit: str
) -> Iterator[str]:
    """A copy, the way on it, whose turn it is, and what its agent believes."""
    side = len(rows) * CELL
    speaking = not over(state, terms) and on_turn(state) == agent
    yield _text(0, -8, f"agent {agent}" + (" · its turn" if speaking else ""), 13, bold=speaking)
    for r, row in enumerate(rows):
        for c, symbol in enumerate(row):
            yield _cell(c * CELL, r * CELL, symbol)
    yield f'<rect class="{"t" if speaking else "e"}" x="0" y="0" width="{side}" height="{side}"/>'
    yield from _way(state, path, hit)
    yield _sign(state.maze.start, START, "s")
    yield _sign(state.maze.goal, "★", "g")
    believed = state.answers[agent].position
    if believed is not None:
        x, y = _centre(believed)
        yield f'<circle class="b" cx="{x:g}" cy="{y:g}" r="13"/>'
    for number, line in enumerate(_belief(state, terms, agent, rows)):
        yield _text(0, side + 18 + number * LINE, line, 12, "d")


def _cell(x: int, y: int, symbol: str) -> str:
    kind = {WALL: "w", HIDDEN: "h"}.get(symbol, "f")
    box = f'<rect class="{kind}" x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="3"/>'
    if symbol == HIDDEN:
        return f'{box}<text class="q" x="{x + CELL // 2}" y="{y + CELL // 2 + 5}">?</text>'
    return box


def _sign(cell: Cell, sign: str, ink: str) -> str:
    x, y = _centre(cell)
    return f'<text class="m {ink}" x="{x:g}" y="{y + 6:g}">{sign}</text>'


def _way(state: MazeState, path: tuple[Cell, ...], hit: str) -> Iterator[str]:
    """The agreed way, where the team stands, and, dashed, the step that is proposed or that met a wall."""
    points = " ".join(f"{x:g},{y:g}" for x, y in map(_centre, path))
    if len(path) > 1:
        yield f'<polyline class="p" points="{points}"/>'
    x, y = _centre(path[-1])
    wanted = hit or (state.pending.what if state.pending and state.pending.what != FINISH else "")
    if wanted:
        to_x, to_y = _centre(moved(path[-1], wanted))
        yield f'<path class="n" d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>'
        if hit:
            yield f'<path class="p" d="M{to_x - 6:g} {to_y - 6:g}l12 12m0 -12l-12 12"/>'
    radius = 13 if path[-1] in (state.maze.start, state.maze.goal) else 8
    yield f'<circle class="o" cx="{x:g}" cy="{y:g}" r="{radius}"/>'


def _centre(cell: Cell) -> tuple[float, float]:
    return (cell[1] + 0.5) * CELL, (cell[0] + 0.5) * CELL


def _belief(state: MazeState, terms: Terms, agent: int, rows: tuple[str, ...]) -> Iterator[str]:
    """What the agent knows, what it did last or said, and, after the exit questions, where it believes the team is."""
    known = sum(symbol != HIDDEN for row in rows for symbol in row)
    done = ", ".join(f"{what} {n}" for what, n in zip(COUNTS, state.counts[agent], strict=True) if n)
    yield f"sees {known} of {len(rows) ** 2} cells; {done or 'no turn yet'}"
    answer = state.answers[agent]
    if answer.position is not None:
        told = "".join(answer.moves or "") or "?"
        yield f"believes: at row {answer.position[0]}, column {answer.position[1]} after {told[:24]}"
    if terms.free:
        words = next((text for who, text in reversed(state.said) if who == agent), "")
        flat = " ".join(words.split())
        flat = f"“{flat}”" if flat else ""
        shown = [flat[k : k + TEXT_COLUMNS] for k in range(0, TEXT_LINES * TEXT_COLUMNS, TEXT_COLUMNS)]
        yield from (line for line in shown if line)


def _text(x: float, y: float, words: str, size: int, kind: str = "", *, bold: bool = False) -> str:
    shown = "".join(char if char.isprintable() else "�" for char in words)
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}"{weight} class="{kind}">{escape(shown)}</text>'
