"""Staying alive: fight what is beside, drink, eat, sleep behind a stone or at noon, rest when hurt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel

from emcoop.envs.ma_crafter.actions import Collect, Noop, Sleep
from emcoop.envs.ma_crafter.constants import DAY, GRASS, MOST, PATH, SAND, STONE, UNKNOWN, UP, WATER
from emcoop.envs.ma_crafter.knowledge import COW, SKELETON, ZOMBIE, Cell, ahead, apart
from emcoop.envs.ma_crafter.moving import LOADED, Mover, move, put, take
from emcoop.envs.ma_crafter.observe import CrafterObservation
from emcoop.envs.ma_crafter.planner import beside, nooks, shelter

LOW = 3
"""A vital at or below this is looked after before anything else."""
HUNGRY = 5
"""Cows are rarer than water."""
HANDY, HANDY_BELOW = 7, 7
"""What is so few steps away is taken as soon as the vital is below this."""
OPEN = (UNKNOWN, GRASS, SAND, PATH)
TIRED = 3
EVENING = 95
DUSK, DAWN = 140, 275
"""From here to there, in steps of the day, zombies are many."""
FARTHEST = 120
"""The most that the way to a shelter may cost."""
RESTED = 7
NOON = (12, 105)
"""In these steps of the day no zombies appear: one can sleep in the open."""
WEAK = 5


@dataclass(frozen=True)
class Care:
    """A plan for one's own body: why, and what to do; `target` is the cell that it concerns."""

    why: str
    actions: list[BaseModel]
    target: Cell | None = None
    kind: str = ""


def look_after(seen: CrafterObservation, mover: Mover, *, dig: bool) -> Care | None:
    """What the body needs now, the most urgent first; None when it needs nothing."""
    if seen.asleep:
        return Care("sleep on", [Sleep()]) if seen.vitals["energy"] < MOST else Care("wake up", [Noop()])
    fight = _fight(seen, mover)
    if fight is None and seen.vitals["health"] <= WEAK - 1 and min(seen.vitals["food"], seen.vitals["drink"]) > 1:
        fight = _rest(seen, mover, dig=dig)
    return fight or _drink(seen, mover) or _eat(seen, mover) or _rest(seen, mover, dig=dig)


def _fight(seen: CrafterObservation, mover: Mover) -> Care | None:
    know = mover.know
    for symbol, name in ((ZOMBIE, "zombie"), (SKELETON, "skeleton")):
        foes = know.mobs(symbol)
        if foes and apart(foes[0], know.me) == 1:
            return Care(f"fight the {name}", [Collect.model_validate({"target": name})])
    archers = know.mobs(SKELETON)
    if archers and apart(archers[0], know.me) <= 4 and not _closed(mover):
        aligned = know.me[0] == archers[0][0] or know.me[1] == archers[0][1]
        if not any(seen.bag.get(sword) for sword in ("wood_sword", "stone_sword", "iron_sword")):
            if not aligned:
                return None
            away = _away(mover, archers[0])
            return Care("out of the arrows' way", away) if away else None
        if apart(archers[0], know.me) == 2:
            side = _side_of(mover, archers[0])
            steps = mover.to(side) if side != know.me else []
            return Care("attack the skeleton", steps[:1]) if steps else None
    return None


def _side_of(mover: Mover, cell: Cell) -> Cell:
    """The nearest free cell beside a body, the agent's own cell if there is none."""
    return mover.ways.nearest(c for c in beside([cell]) if mover.know.free(c)) or mover.know.me


def _away(mover: Mover, foe: Cell) -> list[BaseModel]:
    """One step that leads farther from a foe, out of its row and column if possible; empty when cornered."""
    know = mover.know
    steps = [(d, ahead(know.me, d)) for d in (1, 2, 3, 4) if know.free(ahead(know.me, d))]
    ranked = [(c[0] == foe[0] or c[1] == foe[1], -apart(c, foe), d) for d, c in steps if apart(c, foe) > 1]
    return [move(min(ranked)[2])] if ranked else []


def _drink(seen: CrafterObservation, mover: Mover) -> Care | None:
    have = seen.vitals["drink"]
    if have >= HANDY_BELOW + 1:
        return None
    near = _nearest_beside(mover, mover.ways.closest(mover.know.grid == WATER))
    if near is None or not _worth(seen, have, LOW, mover.ways.to(near[0])):
        return None
    if near[0] != mover.know.me:
        return Care("go and drink", mover.to(near[0]), near[1], "water")
    sips = 1 if mover.know.mobs(ZOMBIE) else min(8, 9 - have)
    return Care("drink", [take("water")] * sips, near[1], "water")


def _worth(seen: CrafterObservation, have: int, low: int, steps: int) -> bool:
    """Whether to go now for something so far away: the way lasts about 20 steps a point; in the dark one waits."""
    if is_dark(seen.step):
        return have <= 1 or steps <= 2
    evening = EVENING <= seen.step % DAY < DUSK
    return have <= low or steps <= (3 * HANDY if evening else HANDY) or steps > 18 * (have - 1)


def _eat(seen: CrafterObservation, mover: Mover) -> Care | None:
    have = seen.vitals["food"]
    if have >= HANDY_BELOW:
        return None
    near = _nearest_beside(mover, list(mover.know.cows))
    if near is None or not _worth(seen, have, HUNGRY, mover.ways.to(near[0])):
        return None
    if near[0] == mover.know.me and mover.know.bodies.get(near[1]) == COW:
        return Care("eat", [take("cow")], near[1], "cow")
    return Care("go to the cow", mover.to(near[0])[:2], near[1], "cow")


def _nearest_beside(mover: Mover, cells: Iterable[Cell]) -> tuple[Cell, Cell] | None:
    """(where to stand, the cell) for the nearest of these cells that can be reached; None for none."""
    best = min(cells, key=lambda cell: (mover.ways.to_side(cell), cell), default=None)
    if best is None:
        return None
    stand = mover.ways.nearest(beside([best]))
    return (stand, best) if stand is not None else None


def _rest(seen: CrafterObservation, mover: Mover, *, dig: bool) -> Care | None:
    energy, health = seen.vitals["energy"], seen.vitals["health"]
    fed = min(seen.vitals["food"], seen.vitals["drink"]) > 2
    dark = is_dark(seen.step)
    if _closed(mover):
        if energy <= TIRED + 2 or (dark and energy < MOST):
            return Care("sleep", [Sleep()])
        return Care("rest", [Noop(num_steps=5)]) if fed and (dark or health < RESTED) else None
    foes = bool(mover.know.mobs(ZOMBIE) or mover.know.mobs(SKELETON))
    wanted = energy <= TIRED or (fed and health <= WEAK) or (dark and (foes or _exposed(mover)))
    if wanted and dig and mover.bag.get("stone", 0) >= 1:
        hiding = _hide(mover)
        if hiding:
            return Care("find shelter", hiding)
    noon = NOON[0] <= seen.step % DAY <= NOON[1] and not foes
    if noon and energy <= TIRED + 2 and health > 2:
        return Care("sleep in the open", [Sleep()])
    if dark and wanted and (waiting := _corner(mover, dig=dig)):
        return Care("find a corner", waiting)
    return None


def is_dark(step: int) -> bool:
    """Whether many zombies roam the grass, or will before one has found shelter."""
    return DUSK <= step % DAY < DAWN


def _exposed(mover: Mover) -> bool:
    """Whether there is grass around, on which zombies appear."""
    row, col = mover.know.me
    around = mover.know.grid[max(0, row - 4) : row + 5, max(0, col - 4) : col + 5]
    return int((around == GRASS).sum()) >= 6


def _closed(mover: Mover) -> bool:
    """Whether nobody can come beside the agent: it stands in a closed chamber of one or two cells."""
    know = mover.know
    open_ = [c for c in beside([know.me]) if know.material(c) in OPEN]
    if not open_:
        return True
    if len(open_) > 1:
        return False
    return all(know.material(c) not in OPEN or c == know.me for c in beside(open_))


def _hide(mover: Mover) -> list[BaseModel]:
    """The next actions towards a dead end of two cells that a stone closes; empty when none is known.

    In the cell beside the door, the agent faces the door and closes it.
    """
    know = mover.know
    if mover.bag.get("stone", 0) > LOADED and (shed := mover.shed()):
        return shed
    for direction in (1, 2, 3, 4):
        door, inner = ahead(know.me, direction), ahead(know.me, direction, -1)
        if know.free(door) and know.free(inner) and _blind(mover, direction):
            if know.facing == direction:
                return [put("stone")]
            back = 3 - direction if direction <= 2 else 7 - direction
            return [move(back), move(direction), put("stone")]
    digs = mover.bag.get("wood_pickaxe", 0) > 0
    for direction in (1, 2, 3, 4):
        door, inner = ahead(know.me, direction, -1), ahead(know.me, direction)
        if know.free(door) and _passage(mover, inner, direction, digs) and _blind(mover, direction, -1):
            return [move(direction)] if know.free(inner) else mover.clear(inner)
    found = shelter(know, mover.ways, can_dig=digs)
    if found is None or mover.ways.to(found[0]) > FARTHEST:
        return []
    door, direction = found
    if door != know.me:
        return mover.to(door)
    first = ahead(door, direction)
    return mover.clear(first) if not know.free(first) else [move(direction)]


def _corner(mover: Mover, *, dig: bool) -> list[BaseModel]:
    """The next actions towards a cell with a single open side; there, wait, and close it when facing it."""
    know = mover.know
    sides = [d for d in (1, 2, 3, 4) if know.material(ahead(know.me, d)) in OPEN]
    if len(sides) <= 1:
        front = ahead(know.me, know.facing)
        return [put("stone")] if mover.bag.get("stone") and dig and know.free(front) else [Noop()]
    digs = dig and mover.bag.get("wood_pickaxe", 0) > 0
    found = mover.ways.nearest(c for c in mover.ways.closest(nooks(know.grid, can_dig=digs), 3))
    return mover.to(found) if found is not None and mover.ways.to(found) <= FARTHEST else []


def _passage(mover: Mover, cell: Cell, direction: int, digs: bool) -> bool:
    return mover.know.free(cell) or (digs and direction == UP and mover.know.material(cell) == STONE)


def _blind(mover: Mover, direction: int, sign: int = 1) -> bool:
    """Whether the agent's cell and the one beside it are closed but for a door on the other side of the agent.

    With sign 1 the door lies in the direction, with -1 against it.
    """
    know, door = mover.know, ahead(mover.know.me, direction, sign)
    inner = ahead(know.me, direction, -sign)
    sides = [c for c in (*beside([know.me]), *beside([inner])) if c not in (know.me, inner, door)]
    return all(know.material(c) not in OPEN for c in sides)
