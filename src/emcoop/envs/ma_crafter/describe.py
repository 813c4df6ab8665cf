"""The observation of MA-Crafter as compact text."""

from __future__ import annotations

from emcoop.envs.ma_crafter.constants import MATERIALS, MOBS, UNKNOWN, VIEW_COLS, VIEW_ROWS
from emcoop.envs.ma_crafter.observe import (
    GROUND_SYMBOLS,
    ME,
    MOB_SYMBOLS,
    NIGHT,
    OUTSIDE,
    CrafterObservation,
    KnownTarget,
    Teammate,
    WholeMap,
)

_LEGEND = {
    **dict(zip(GROUND_SYMBOLS, MATERIALS, strict=True)),
    **dict(zip(MOB_SYMBOLS[1:], MOBS[1:], strict=True)),
    ME: "you",
    OUTSIDE: "outside the world",
}


def describe(seen: CrafterObservation) -> str:
    """The observation as text: what changes from step to step."""
    time = "night" if seen.day < NIGHT else "day"
    where = f"You are {seen.agent} at (row {seen.row}, col {seen.col})"
    lines = [f"Step {seen.step} of {seen.horizon}, {time}."]
    if not seen.alive:
        return f"{lines[0]} You are dead; all you can do is wait."
    if seen.asleep:
        lines.append(f"{where}, asleep: you see nothing, and wake when your energy is full or something hurts you.")
    else:
        lines.append(f"{where}, facing {seen.facing}: {seen.faces}.")
    bag = ", ".join(f"{count} {item}" for item, count in seen.bag.items()) or "empty"
    lines.append(", ".join(f"{name} {value}" for name, value in seen.vitals.items()).capitalize() + f". Bag: {bag}.")
    lines.append(f"Last primitive: {'FAILED, ' if seen.last_failed else ''}{seen.last_text}.")
    if seen.view:
        lines += _view(seen)
    lines += _targets(seen)
    if isinstance(seen, WholeMap):
        lines += _everything(seen)
    if seen.teammates:
        lines.append("Teammates: " + "; ".join(_teammate(mate, seen.step) for mate in seen.teammates) + ".")
    if seen.achieved:
        lines.append("You have achieved: " + ", ".join(seen.achieved) + ".")
    return "\n".join(lines)


def _view(seen: CrafterObservation) -> list[str]:
    symbols = sorted(set("".join(seen.view)))
    legend = ", ".join(f"{s} {_LEGEND[s]}" for s in symbols if s in _LEGEND and s != GROUND_SYMBOLS[UNKNOWN])
    mates = ", a digit or Greek letter: that teammate" if any(s not in _LEGEND for s in symbols) else ""
    top, left = seen.row - VIEW_ROWS // 2, seen.col - VIEW_COLS // 2
    return [
        f"View, rows {top} to {top + VIEW_ROWS - 1}, columns {left} to {left + VIEW_COLS - 1} ({legend}{mates}):",
        *seen.view,
    ]


def _targets(seen: CrafterObservation) -> list[str]:
    if not seen.targets:
        return ["You know of no target yet."]
    lines = ["Known targets, nearest of each kind: name (row, col) [rows down, columns right of you]"]
    for kind in dict.fromkeys(target.kind for target in seen.targets):
        targets = [target for target in seen.targets if target.kind == kind]
        lines.append(f"- {_takes(targets[0])}" + "; ".join(_target(seen, target) for target in targets))
    return lines


_LISTED = ("table", "furnace", "coal", "iron", "diamond")
"""Of these every cell of a whole map is told; trees, stone, water and lava are too many."""


def _everything(seen: WholeMap) -> list[str]:
    lines = []
    for kind in _LISTED:
        symbol = GROUND_SYMBOLS[MATERIALS.index(kind)]
        cells = [f"({r}, {c})" for r, row in enumerate(seen.map) for c, ground in enumerate(row) if ground == symbol]
        if cells:
            lines.append(f"- {kind}: {' '.join(cells)}")
    return ["All on the whole map (row, col):", *lines] if lines else []


def _takes(target: KnownTarget) -> str:
    if target.required <= 1 and target.tool is None:
        return ""
    people = "1 agent" if target.required == 1 else f"{target.required} agents"
    lacking = " (you have none)" if target.ready == f"needs a {target.tool}" else ""
    return f"{target.kind}, {people}{f' with {target.tool}{lacking}' if target.tool else ''}: "


def _target(seen: CrafterObservation, target: KnownTarget) -> str:
    offset = f"[{target.row - seen.row:+d}, {target.col - seen.col:+d}]"
    said = {"": "", "out of reach": "", f"needs a {target.tool}": "", "yes": " ready"}
    ready = said.get(target.ready, f" {target.ready}")
    way = "" if target.steps is not None else " no way known"
    return f"{target.name} ({target.row}, {target.col}) {offset}{ready}{way}"


def _teammate(mate: Teammate, now: int) -> str:
    if mate.step is None:
        return f"{mate.id} not seen yet"
    place = f"{mate.id} at ({mate.row}, {mate.col})"
    if mate.in_view:
        return place + (" in view, asleep" if mate.asleep else " in view")
    return f"{place} {now - mate.step} steps ago"
