"""One frame of the exchange as SVG: who holds what, what has just changed hands, the open tasks, the revenue.

A row is an agent, a column a piece. Dark: held from the start; light: a copy; red: a copy under a false value; a ring:
needed by an open task and missing. Arcs on the left are what was sent in this round, bold in the last turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from emcoop.envs.exchange.generator import Spec, turn_order
from emcoop.envs.exchange.results import money
from emcoop.envs.exchange.state import ABSENT, ExchangeState
from emcoop.envs.exchange.work import Work

GUTTER, LABEL, MATRIX, BAR, TOP = 90, 66, 700, 130, 58
DETAILED = 24
"""A larger team is drawn in thin rows, without labels and tasks."""

INK, FAINT, PAPER, LINE = "#1b2a38", "#5b6b7a", "#ffffff", "#dde3e8"
OWN, COPY, FALSE, NEED, FLOW, GOLD = "#2c5278", "#9fc3e0", "#d1495b", "#c77d0a", "#3c9d5d", "#d9a514"


def render(state: ExchangeState, spec: Spec) -> str:
    """The state as an SVG document, about 1,200 px wide."""
    rows = len(state.desks)
    detailed = rows <= DETAILED
    height = max(22.0, min(34.0, 340 / rows)) if detailed else max(1.5, 640 / rows)
    tasks = spec.open_tasks * (spec.task_pieces * 22 + 14) if detailed else 0
    width = GUTTER + LABEL + MATRIX + 20 + tasks + BAR + 64
    bottom = TOP + rows * height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 34:g}" width="{width}" '
        f'height="{bottom + 34:g}" font-family="sans-serif">',
        f'<rect width="{width}" height="{bottom + 34:g}" fill="{PAPER}"/>',
        _title(state, spec, width, tasks),
        *_matrix(state, spec, height),
        *_flows(state, spec, height),
        *_labels(state, spec, height),
        *(_tasks(state, spec, height) if detailed else ()),
        *_money(state, spec, height, width - BAR - 60),
        _legend(bottom + 22),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _text(x: float, y: float, words: str, *, size: float = 12, fill: str = INK, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}"{more}>{words}</text>'


def _title(state: ExchangeState, spec: Spec, width: float, tasks: int) -> str:
    done = sum(desk.done for desk in state.desks)
    if state.turn < spec.horizon:
        number = state.turn // spec.agents
        mover = turn_order(state.seed, number, spec.agents)[state.turn % spec.agents]
        where = f"round {number + 1} of {spec.rounds}, agent_{mover} is on turn"
    else:
        where = "the end"
    total = f"{done} tasks, revenue {sum(money(state, spec)):,.0f}"
    left = GUTTER + LABEL
    heads = [_text(left, 46, f"pieces 0 to {spec.pieces - 1}", size=11, fill=FAINT)]
    if tasks:
        heads.append(_text(left + MATRIX + 20, 46, "open tasks", size=11, fill=FAINT))
    heads.append(_text(width - BAR - 60, 46, "revenue", size=11, fill=FAINT))
    return _text(12, 22, f"{where}: {total}", size=15) + "".join(heads)


def _y(agent: int, height: float) -> float:
    return TOP + agent * height


def _matrix(state: ExchangeState, spec: Spec, height: float) -> Iterator[str]:
    """One path for each colour: runs of neighbouring pieces of a kind are one rectangle."""
    work = Work(spec, state)
    cell, pad = MATRIX / spec.pieces, height * 0.14
    left = GUTTER + LABEL
    paths: dict[str, list[str]] = {OWN: [], COPY: [], FALSE: []}
    for agent, row in enumerate(state.held):
        own = spec.own(agent)
        kinds = [
            None if v == ABSENT else OWN if p in own else COPY if v == work.true[p] else FALSE
            for p, v in enumerate(row)
        ]
        start = 0
        for kind, run in groupby(kinds):
            length = len(list(run))
            if kind is not None:
                x, y, wide = left + start * cell, _y(agent, height) + pad, max(1.2, length * cell)
                paths[kind].append(f"M{x:.1f} {y:.1f}h{wide:.1f}v{height - 2 * pad:.1f}h{-wide:.1f}z")
            start += length
    size = len(state.desks) * height
    yield f'<rect x="{left}" y="{TOP}" width="{MATRIX}" height="{size:g}" fill="#f5f7f9" stroke="{LINE}"/>'
    for fill, path in paths.items():
        if path:
            yield f'<path d="{"".join(path)}" fill="{fill}"/>'
    if cell >= 2:
        grid = "".join(f"M{left + k * cell:.1f} {TOP}v{size:g}" for k in range(1, spec.pieces))
        yield f'<path d="{grid}" stroke="{PAPER}" stroke-width="0.6" fill="none"/>'
        yield from _needs(work, cell, height)


def _needs(work: Work, cell: float, height: float) -> Iterator[str]:
    left, radius = GUTTER + LABEL, min(cell, height) * 0.36
    for agent in range(len(work.desks)):
        for piece in work.missing(agent):
            x, y = left + (piece + 0.5) * cell, _y(agent, height) + height / 2
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none" stroke="{NEED}" stroke-width="1.6"/>'


def _flows(state: ExchangeState, spec: Spec, height: float) -> Iterator[str]:
    """What has changed hands in the round of the last turn, as far as desks remember it."""
    if not state.turn:
        return
    since = (state.turn - 1) // spec.agents * spec.agents
    cell, edge = MATRIX / spec.pieces, GUTTER - 6
    arcs: dict[tuple[int, int], bool] = {}
    for to, desk in enumerate(state.desks):
        for turn, sender, piece, _ in desk.receipts:
            if turn < since:
                continue
            now = turn == state.turn - 1
            arcs[sender, to] = arcs.get((sender, to), False) or now
            if cell >= 2 and now:
                x, y = GUTTER + LABEL + piece * cell, _y(to, height) + height * 0.06
                box = f'x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{height * 0.88:.1f}"'
                yield f'<rect {box} fill="none" stroke="{FLOW}" stroke-width="2"/>'
    for (sender, to), now in sorted(arcs.items(), key=lambda item: item[1]):
        y0, y1 = _y(sender, height) + height / 2, _y(to, height) + height / 2
        bend = edge - 14 - min(GUTTER - 26, abs(y1 - y0) * 0.35)
        style = f'stroke="{FLOW}" stroke-width="2"' if now else f'stroke="{FAINT}" stroke-width="1" opacity="0.35"'
        curve = f"M{edge} {y0:.1f}C{bend:.1f} {y0:.1f} {bend:.1f} {y1:.1f} {edge} {y1:.1f}"
        yield f'<path d="{curve}" fill="none" {style}/>'
        if now:
            yield f'<path d="M{edge + 4} {y1:.1f}l-7 -4v8z" fill="{FLOW}"/>'


def _labels(state: ExchangeState, spec: Spec, height: float) -> Iterator[str]:
    on_turn = None
    if state.turn < spec.horizon:
        on_turn = turn_order(state.seed, state.turn // spec.agents, spec.agents)[state.turn % spec.agents]
    for agent in range(len(state.desks)):
        if len(state.desks) > DETAILED and agent % 20:
            continue
        bold = ' font-weight="bold"' if agent == on_turn else ""
        y = _y(agent, height) + height / 2 + 4
        yield _text(GUTTER + 4, y, f"agent_{agent}", fill=INK if bold else FAINT, more=bold)


def _tasks(state: ExchangeState, spec: Spec, height: float) -> Iterator[str]:
    """Every open task as a box for each of its pieces: filled where the owner holds it."""
    work = Work(spec, state)
    size = min(height * 0.66, 20)
    for agent, desk in enumerate(state.desks):
        x, y = GUTTER + LABEL + MATRIX + 20, _y(agent, height) + (height - size) / 2
        for number, _ in desk.tasks:
            for piece in work.pieces_of(agent, number):
                held = work.holds(agent, piece)
                fill, ink = (COPY, INK) if held else (PAPER, NEED)
                stroke = COPY if held else NEED
                place = f'x="{x:g}" y="{y:.1f}" width="20" height="{size:.1f}" rx="3"'
                yield f'<rect {place} fill="{fill}" stroke="{stroke}"/>'
                font = 9 if piece < 1000 else 7
                yield _text(x + 10, y + size / 2 + 3.5, str(piece), size=font, fill=ink, more=' text-anchor="middle"')
                x += 22
            x += 14


def _money(state: ExchangeState, spec: Spec, height: float, x: float) -> Iterator[str]:
    earned = money(state, spec)
    most = max(max(earned), spec.pay)
    detailed = len(earned) <= DETAILED
    for agent, (amount, desk) in enumerate(zip(earned, state.desks, strict=True)):
        y = _y(agent, height) + height * 0.2
        length = max(0.0, BAR * amount / most)
        yield f'<rect x="{x:g}" y="{y:.1f}" width="{length:.1f}" height="{height * 0.6:.1f}" fill="{GOLD}"/>'
        if detailed:
            words = f"{amount:,.0f} ({desk.done})" if amount < 1e6 else f"{amount / 1e6:,.2f}M ({desk.done})"
            inside = length > 80
            at = x + 5 if inside else x + length + 4
            yield _text(at, y + height * 0.3 + 4, words, size=10, fill=INK)


def _legend(y: float) -> str:
    entries = ((OWN, "held from the start"), (COPY, "a copy"), (FALSE, "a copy under a false value"))
    x, parts = float(GUTTER + LABEL), []
    for fill, words in entries:
        parts.append(f'<rect x="{x:g}" y="{y - 9:g}" width="10" height="10" fill="{fill}"/>')
        parts.append(_text(x + 15, y, words, size=11, fill=FAINT))
        x += 30 + 6.2 * len(words)
    parts.append(f'<circle cx="{x + 5:g}" cy="{y - 4:g}" r="4" fill="none" stroke="{NEED}" stroke-width="1.6"/>')
    parts.append(_text(x + 15, y, "needed and missing", size=11, fill=FAINT))
    x += 30 + 6.2 * 18
    parts.append(f'<path d="M{x:g} {y - 4:g}h16" stroke="{FLOW}" stroke-width="2"/>')
    parts.append(_text(x + 21, y, "sent in the last turn (thin: in this round)", size=11, fill=FAINT))
    return "".join(parts)
