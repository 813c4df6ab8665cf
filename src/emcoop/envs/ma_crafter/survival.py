"""Staying alive: fight what is beside, drink, eat, sleep behind a stone or at noon, rest when hurt."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from emcoop.envs.ma_crafter.actions import Collect, Noop, Sleep
from emcoop.envs.ma_crafter.constants import GRASS, MOST, PATH, SAND, WATER
from emcoop.envs.ma_crafter.knowledge import COW, SKELETON, ZOMBIE, Cell, ahead, apart
from emcoop.envs.ma_crafter.moving import Mover, move, put, take
from emcoop.envs.ma_crafter.observe import CrafterObservation
from emcoop.envs.ma_crafter.planner import FAR, beside, shelter

LOW = 4
"""A vital at or below this is looked after before anything else."""
HANDY, HANDY_BELOW = 5, 7
"""What is so few steps away is taken as soon as the vital is below this."""
TIRED = 4
NIGHT = 0.35
SAFE_DAY = 0.75
"""At this daylight no zombies appear: one can sleep in the open."""
WEAK = 3
VERY_TIRED = 1


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
    return _fight(seen, mover) or _drink(seen, mover) or _eat(seen, mover) or _rest(seen, mover, dig=dig)


def _fight(seen: CrafterObservation, mover: Mover) -> Care | None:
    know = mover.know
    for symbol, name in ((ZOMBIE, "zombie"), (SKELETON, "skeleton")):
        foes = know.mobs(symbol)
        if foes and apart(foes[0], know.me) == 1:
            return Care(f"fight the {name}", [Collect.model_validate({"target": name})])
    archers = know.mobs(SKELETON)
    if archers and apart(archers[0], know.me) <= 4 and not _closed(mover):
        if seen.vitals["health"] <= WEAK + 1:
            away = _away(mover, archers[0])
            return Care("out of the arrows' way", away) if away else None
        steps = mover.to(_side_of(mover, archers[0])) if _side_of(mover, archers[0]) != know.me else []
        if steps:
            return Care("attack the skeleton", steps[:1])
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
    near = _nearest_beside(mover, mover.know.cells(WATER))
    if near is None or not (have <= LOW or mover.ways.to(near[0]) <= HANDY or _last_call(have, mover, near[0])):
        return None
    if near[0] != mover.know.me:
        return Care("go and drink", mover.to(near[0]), near[1], "water")
    sips = 1 if mover.know.mobs(ZOMBIE) else min(8, 9 - have)
    return Care("drink", [take("water")] * sips, near[1], "water")


def _last_call(have: int, mover: Mover, stand: Cell) -> bool:
    """Whether what is left lasts just for the way there, at about 20 steps a point."""
    return bool(mover.ways.to(stand) > 18 * (have - 1))


def _eat(seen: CrafterObservation, mover: Mover) -> Care | None:
    have = seen.vitals["food"]
    if have >= HANDY_BELOW:
        return None
    near = _nearest_beside(mover, list(mover.know.cows))
    if near is None or not (have <= LOW or mover.ways.to(near[0]) <= HANDY or _last_call(have, mover, near[0])):
        return None
    if near[0] == mover.know.me and mover.know.bodies.get(near[1]) == COW:
        return Care("eat", [take("cow")], near[1], "cow")
    return Care("go to the cow", mover.to(near[0])[:2], near[1], "cow")


def _nearest_beside(mover: Mover, cells: list[Cell]) -> tuple[Cell, Cell] | None:
    """(where to stand, the cell) for the nearest of these cells that can be reached; None for none."""
    best: tuple[int, Cell, Cell] | None = None
    for cell in cells:
        for stand in beside([cell]):
            key = (mover.ways.to(stand), stand, cell)
            if key[0] < FAR and (best is None or key < best):
                best = key
    return (best[1], best[2]) if best is not None else None


def _rest(seen: CrafterObservation, mover: Mover, *, dig: bool) -> Care | None:
    energy, health = seen.vitals["energy"], seen.vitals["health"]
    safe = not mover.know.mobs(ZOMBIE) and not mover.know.mobs(SKELETON)
    night = seen.day < NIGHT
    tired = energy <= TIRED or (night and energy <= 6)
    hurt = health <= WEAK and min(seen.vitals["food"], seen.vitals["drink"]) > 2
    if not tired and not hurt:
        return None
    if _closed(mover):
        return Care("sleep", [Sleep()]) if energy < 9 else Care("rest", [Noop(num_steps=5)])
    if mover.bag.get("stone", 0) >= 1 and dig:
        hiding = _hide(mover)
        if hiding:
            return Care("find shelter", hiding)
    if energy < 9 and safe and (seen.day >= SAFE_DAY or energy <= VERY_TIRED):
        return Care("sleep in the open", [Sleep()])
    return None


def _closed(mover: Mover) -> bool:
    """Whether nobody can come beside the agent: it stands in a closed chamber of one or two cells."""
    know = mover.know
    open_ = [c for c in beside([know.me]) if know.material(c) in (GRASS, SAND, PATH, 0)]
    if not open_:
        return True
    if len(open_) > 1:
        return False
    return all(know.material(c) not in (GRASS, SAND, PATH, 0) or c == know.me for c in beside(open_))


def _hide(mover: Mover) -> list[BaseModel]:
    """The next actions towards a dead end of two cells that a stone closes; empty when none is known.

    In the cell beside the door, the agent faces the door and closes it.
    """
    know = mover.know
    for direction in (1, 2, 3, 4):
        door, inner = ahead(know.me, direction), ahead(know.me, direction, -1)
        if know.free(door) and know.free(inner) and _blind(mover, direction):
            if know.facing == direction:
                return [put("stone")]
            back = 3 - direction if direction <= 2 else 7 - direction
            return [move(back), move(direction), put("stone")]
    found = shelter(know, mover.ways, can_dig=mover.bag.get("wood_pickaxe", 0) > 0)
    if found is None or mover.ways.to(found[0]) > 40:
        return []
    door, direction = found
    if door != know.me:
        return mover.to(door)
    first = ahead(door, direction)
    return mover.clear(first) if not know.free(first) else [move(direction)]


def _blind(mover: Mover, direction: int) -> bool:
    """Whether the agent and the cell behind it are closed but for the door in this direction."""
    know, inner = mover.know, ahead(mover.know.me, direction, -1)
    sides = [c for c in (*beside([know.me]), *beside([inner])) if c not in (know.me, inner)]
    door = ahead(know.me, direction)
    return all(know.material(c) not in (GRASS, SAND, PATH, 0) for c in sides if c != door)
