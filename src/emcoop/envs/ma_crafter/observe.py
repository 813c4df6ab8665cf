"""What an agent may know of MA-Crafter: its view, what it remembers, and its own body. Nothing else leaks.

Ground out of view is what the agent last saw there; teammates out of view are where it last saw them; animals and
enemies are known only while they are in view. Who sleeps sees nothing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from emcoop.core.types import AgentId, Json, agent_index
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import (
    ACHIEVEMENTS,
    COL,
    DCOL,
    DEAD,
    DIRECTIONS,
    DROW,
    FACING,
    ITEMS,
    KIND,
    MATERIALS,
    MOB_ID,
    MOBS,
    RESOURCES,
    RESULTS,
    RIPE,
    ROW,
    SIGHT_COL,
    SIGHT_ROW,
    SIGHT_STEP,
    SLEEPING,
    TIMER,
    VIEW_COLS,
    VIEW_ROWS,
    VITALS,
)
from emcoop.envs.ma_crafter.light import daylight
from emcoop.envs.ma_crafter.navigate import FAR, steps_beside, window
from emcoop.envs.ma_crafter.results import has_failed, result_text
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.tasks import LANDMARKS, Cell

GROUND_SYMBOLS = "?~.#_,T!cidtf"
"""One symbol per material, in the order of MATERIALS."""
MOB_SYMBOLS = " CZK*p"
"""One symbol per kind of mob, in the order of MOBS."""
ME, OUTSIDE = "@", "x"

NIGHT = 0.4
"""Below this daylight it is night."""

NEAREST = {"tree": 4, "stone": 4, "water": 3}
MOST_OF_A_KIND = 6
"""Of each kind of thing only the nearest that the agent remembers are listed."""


class _Seen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KnownTarget(_Seen):
    """A thing that the agent sees or remembers, with what it takes.

    `row` and `col` are its cell, `distance` counts cells (|rows| + |columns|), `steps` those of the shortest known way
    to stand beside it, through unseen ground if need be; None when no way is known. `required` agents must take it with
    `tool`; `near` counts those within the threshold that are in view, the agent itself included. `ready` says whether
    the agent could take it now, or what is missing. For things that are not collected, `required` is 0.
    """

    name: str
    kind: str
    id: int
    row: int
    col: int
    distance: int
    steps: int | None = None
    required: int = 0
    tool: str | None = None
    near: int = 0
    ready: str = ""


class Teammate(_Seen):
    """A teammate as last seen: its cell and the step, None for never."""

    id: AgentId
    row: int | None = None
    col: int | None = None
    step: int | None = None
    in_view: bool = False
    asleep: bool = False


class CrafterObservation(_Seen):
    """The symbolic observation of one agent.

    `view` are the rows around the agent, 7 of 9 symbols (GROUND_SYMBOLS, MOB_SYMBOLS, digits for teammates, @ for the
    agent, x outside the world), empty for who sleeps or is dead. `map` are all rows of the world as it remembers them,
    ground only. `targets` are what can be named, within each kind the fewest steps first. `day` is the daylight,
    0 to 1.
    """

    agent: AgentId
    step: int
    horizon: int
    row: int
    col: int
    facing: Literal["left", "right", "up", "down"]
    faces: str
    alive: bool
    asleep: bool
    day: float
    vitals: dict[str, int]
    bag: dict[str, int]
    achieved: tuple[str, ...]
    last_result: str
    last_text: str
    last_failed: bool
    view: tuple[str, ...]
    map: tuple[str, ...]
    targets: tuple[KnownTarget, ...]
    teammates: tuple[Teammate, ...]

    def target(self, name: str) -> KnownTarget | None:
        """The target of this name, if it is listed."""
        return next((target for target in self.targets if target.name == name), None)


class WholeMap(CrafterObservation):
    """The observation where the level says `whole_map`: `map` is the ground as it is (for who sleeps, as it was)."""


_SYMBOLS = np.frombuffer(GROUND_SYMBOLS.encode(), np.uint8)
_IS_LANDMARK = np.isin(np.arange(len(MATERIALS)), LANDMARKS)


def observe(state: CrafterState, level: Level, agent: AgentId) -> CrafterObservation:
    """The symbolic observation."""
    me = agent_index(agent)
    body, items = state.agents[me].tolist(), state.inventory[me].tolist()
    teammates = tuple(_teammate(state, me, mate) for mate in range(state.team) if mate != me)
    awake = not body[SLEEPING] and not body[DEAD]
    kind = WholeMap if level.whole_map else CrafterObservation
    return kind(
        agent=agent,
        step=state.step,
        horizon=level.horizon,
        row=body[ROW],
        col=body[COL],
        facing=_FACINGS[body[FACING]],
        faces=_faced(state, me) if awake else "unknown",
        alive=not body[DEAD],
        asleep=bool(body[SLEEPING]),
        day=round(daylight(state.step), 2),
        vitals=dict(zip(ITEMS[:VITALS], items, strict=False)),
        bag={name: count for name, count in zip(ITEMS[VITALS:], items[VITALS:], strict=True) if count},
        achieved=tuple(name for name, count in zip(ACHIEVEMENTS, state.achievements[me], strict=True) if count),
        last_result=RESULTS[int(state.result[me, 0])],
        last_text=result_text(state, me),
        last_failed=has_failed(state, me),
        view=_view(state, me) if awake else (),
        map=_map(state, me),
        targets=_targets(state, level, me, teammates),
        teammates=teammates,
    )


_FACINGS: dict[int, Literal["left", "right", "up", "down"]] = {1: "left", 2: "right", 3: "up", 4: "down"}
assert tuple(_FACINGS.values()) == DIRECTIONS[1:]


def _teammate(state: CrafterState, me: int, mate: int) -> Teammate:
    row, col, step = (int(state.sighted[me, mate, k]) for k in (SIGHT_ROW, SIGHT_COL, SIGHT_STEP))
    if row < 0:
        return Teammate(id=f"agent_{mate}")
    now = step == state.step
    return Teammate(
        id=f"agent_{mate}", row=row, col=col, step=step, in_view=now, asleep=now and bool(state.agents[mate, SLEEPING])
    )


def _thing_at(state: CrafterState, cell: Cell) -> str:
    """The name of what is in a cell in view: an agent, a mob, a thing with an id, or plain ground."""
    rows, cols = state.shape
    if not (0 <= cell[0] < rows and 0 <= cell[1] < cols):
        return "the edge of the world"
    body = int(state.occupant[cell])
    if body > 0:
        return f"agent_{body - 1}"
    if body < 0:
        kind, number = int(state.mobs[-body - 1, KIND]), int(state.mobs[-body - 1, MOB_ID])
        return f"{MOBS[kind]}_{number}" if number else MOBS[kind]
    material = int(state.material[cell])
    return f"{MATERIALS[material]}_{state.ids[cell]}" if _IS_LANDMARK[material] else MATERIALS[material]


def _faced(state: CrafterState, me: int) -> str:
    row, col, facing = (int(state.agents[me, k]) for k in (ROW, COL, FACING))
    return _thing_at(state, (row + DROW[facing], col + DCOL[facing]))


def _map(state: CrafterState, me: int) -> tuple[str, ...]:
    text, cols = _SYMBOLS[state.seen[me]].tobytes().decode(), state.shape[1]
    return tuple(text[start : start + cols] for start in range(0, len(text), cols))


def _view(state: CrafterState, me: int) -> tuple[str, ...]:
    row, col = int(state.agents[me, ROW]), int(state.agents[me, COL])
    rows, cols = window(state, me)
    symbols = [[OUTSIDE] * VIEW_COLS for _ in range(VIEW_ROWS)]
    top, left = row - VIEW_ROWS // 2, col - VIEW_COLS // 2
    occupant, material = state.occupant[rows, cols].tolist(), state.material[rows, cols].tolist()
    for i, (bodies, ground) in enumerate(zip(occupant, material, strict=True)):
        for j, (body, below) in enumerate(zip(bodies, ground, strict=True)):
            symbols[rows.start + i - top][cols.start + j - left] = (
                GROUND_SYMBOLS[below] if body == 0 else _body_symbol(state, me, body)
            )
    return tuple("".join(line) for line in symbols)


def _body_symbol(state: CrafterState, me: int, body: int) -> str:
    if body < 0:
        return MOB_SYMBOLS[int(state.mobs[-body - 1, KIND])]
    return ME if body - 1 == me else agent_symbol(body - 1)


def agent_symbol(index: int) -> str:
    """A teammate's symbol in the view: its index, from 10 on a Greek letter."""
    return str(index) if index < 10 else chr(ord("α") + index - 10)


def _targets(state: CrafterState, level: Level, me: int, mates: tuple[Teammate, ...]) -> tuple[KnownTarget, ...]:
    """The nearest remembered things of each kind, and every mob with an id in view."""
    here = int(state.agents[me, ROW]), int(state.agents[me, COL])
    here_and_mates = [here] + [(m.row, m.col) for m in mates if m.in_view and m.row is not None and m.col is not None]
    seen = state.seen[me]
    rows, cols = np.nonzero(_IS_LANDMARK[seen])
    distance = np.abs(rows - here[0]) + np.abs(cols - here[1])
    numbers, kinds, ways = state.ids[rows, cols], seen[rows, cols], steps_beside(state, me)
    steps = ways[rows, cols]
    found: list[KnownTarget] = []
    for material in LANDMARKS:
        places = np.flatnonzero(kinds == material)
        kind = MATERIALS[material]
        nearest = places[np.lexsort((numbers[places], distance[places], steps[places]))][
            : NEAREST.get(kind, MOST_OF_A_KIND)
        ]
        for k in nearest.tolist():
            cell = int(rows[k]), int(cols[k])
            found.append(_target(state, level, me, here_and_mates, (kind, int(numbers[k]), cell), int(steps[k])))
    return (*found, *_mobs_in_view(state, level, me, here_and_mates, ways))


def _mobs_in_view(
    state: CrafterState, level: Level, me: int, bodies: list[Cell], ways: NDArray[np.int32]
) -> list[KnownTarget]:
    if state.agents[me, SLEEPING] or state.agents[me, DEAD]:
        return []
    rows, cols = window(state, me)
    found = []
    for i, j in np.argwhere(state.occupant[rows, cols] < 0).tolist():
        cell = (rows.start + i, cols.start + j)
        mob = state.mobs[-int(state.occupant[cell]) - 1]
        if mob[MOB_ID]:
            thing = (MOBS[int(mob[KIND])], int(mob[MOB_ID]), cell)
            found.append(_target(state, level, me, bodies, thing, int(ways[cell]), ripe=int(mob[TIMER]) > RIPE))
    return sorted(found, key=lambda target: (target.kind, target.distance, target.id))


def _target(
    state: CrafterState,
    level: Level,
    me: int,
    bodies: list[Cell],
    thing: tuple[str, int, Cell],
    steps: int,
    *,
    ripe: bool = True,
) -> KnownTarget:
    """`bodies` are the cells of the agent itself and of the teammates in view."""
    kind, number, (row, col) = thing
    distances = [abs(r - row) + abs(c - col) for r, c in bodies]
    basic: dict[str, Json] = {
        "name": f"{kind}_{number}",
        "kind": kind,
        "id": number,
        "row": row,
        "col": col,
        "distance": distances[0],
    }
    basic["steps"] = steps if steps < FAR else None
    if kind not in RESOURCES:
        return KnownTarget.model_validate(basic)
    reach, required, tool = level.cooperative_collection.distance_threshold, level.required(kind), level.tool(kind)
    near = sum(distance <= reach for distance in distances)
    if tool is not None and not state.inventory[me, ITEMS.index(tool)]:
        ready = f"needs a {tool}"
    elif kind == "plant" and not ripe:
        ready = "not ripe"
    elif distances[0] > reach:
        ready = "out of reach"
    elif near < required:
        ready = f"needs {required - near} more near"
    else:
        ready = "yes"
    return KnownTarget.model_validate({**basic, "required": required, "tool": tool, "near": near, "ready": ready})
