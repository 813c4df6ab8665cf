"""Staying alive: fight what is beside, eat and drink before the need, spend the night in a closed chamber.

Zombies appear on grass at any time but noon, at night three in each part of the map; one that reaches a sleeper takes
seven points of health. So one sleeps only where nobody can come beside (`shelter`), is there at dusk, and stays until
dawn where there is grass around.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.envs.ma_crafter.actions import Collect, Noop, Sleep
from emcoop.envs.ma_crafter.constants import DAY, GRASS, MOST, PATH, STONE, WATER
from emcoop.envs.ma_crafter.knowledge import ARROW, COW, SKELETON, ZOMBIE, Cell, Ground, ahead, apart
from emcoop.envs.ma_crafter.moving import Mover, move, put, take
from emcoop.envs.ma_crafter.observe import CrafterObservation
from emcoop.envs.ma_crafter.planner import FAR, beside, sums_around
from emcoop.envs.ma_crafter.shelter import Site, build, enclosure, find_site, still_good

EVENING = 147
"""From this step of the day on one goes underground, if there is rock."""
SUPPER, NIGHTCAP = 80, 110
"""From this step of the day on one drinks and eats for the night."""
DUSK, DAWN = 155, 295
"""From one to the other one stays off the grass: with food and water for the whole of the night nobody would move."""
NOON = (5, 115)
"""In these steps of the day no zombies appear, and those that are there vanish."""
EXPOSED, MEADOW = 14, 8
"""So much grass within a few cells is a place where zombies come; with less one does not go there at night."""
LINGER = 50
"""Until this step of the day one waits for the zombies of the night to vanish."""
SUPPER_STEPS = 25
"""How far one goes for it."""
LATE = 40
"""What the way into rock may cost in the dark, when a step over grass counts five."""
FARTHEST, NEAR_BY = 80, 40
"""The most that the way to a shelter may cost, at night and by day."""
MEADOW_COST = 15
"""What it is worth, in steps, to spend the night where there is none."""
NEAR_ENOUGH = {8: 0, 7: 4, 6: 12, 5: 25}
"""How far one goes for food and water by what one has."""
HUNGRY = 5
"""With so little food one looks for cows."""
EXHAUSTED, TIRED = 1, 4
SLEEPY, WAKING = 5, 6
"""With so little energy one sleeps around noon where there is no chamber; for each point that may be missing so many
steps before the zombies come back."""
STARVE_STEPS = 16
"""In so many steps hunger or thirst takes a point of health."""
WEAK, HURT, SOUND = 3, 5, 6
"""With so little health one hides, in the evening with a little more, until it is back."""
PATIENCE = 5
"""Decisions for which one waits until a body has left the place of a wall."""
LONGEST_SEARCH, GIVEN_UP = 60, 8
"""Decisions that the making of a shelter may take; steps without one after it has failed."""


@dataclass(frozen=True)
class Care:
    """A plan for one's own body: why, and what to do; `target` is the cell that it concerns."""

    why: str
    actions: list[BaseModel]
    target: Cell | None = None
    kind: str = ""


def is_dark(step: int) -> bool:
    """Whether many zombies roam the grass, or will before one has found shelter."""
    return DUSK <= step % DAY < DAWN


def meadows(grid: Ground, least: int) -> NDArray[np.bool_]:
    """[H, W]: the cells with at least so much grass around."""
    found: NDArray[np.bool_] = sums_around((grid == GRASS).astype(np.float64), 9, 11) >= least
    return found


def exposed(mover: Mover) -> bool:
    """Whether there is grass around, on which zombies appear."""
    row, col = mover.know.me
    around = mover.know.grid[max(0, row - 4) : row + 5, max(0, col - 5) : col + 6]
    return int((around == GRASS).sum()) >= EXPOSED


class Body:
    """What one agent does for its body; it remembers the chamber that it is making."""

    def __init__(self) -> None:
        self._site: Site | None = None
        self._searching, self._waiting, self._without = 0, 0, 0
        self.idle = False
        """Whether there is nothing to do underground in this night."""

    def care(self, seen: CrafterObservation, mover: Mover, *, digs: bool, busy: bool = False) -> Care | None:
        """What the body needs now, the most urgent first; None when it needs nothing.

        Who is `busy` is about to finish something that matters: it puts off what can wait a little.
        """
        self.idle = self.idle and is_dark(seen.step)
        if seen.asleep:
            return Care("sleep on", [Sleep()]) if seen.vitals["energy"] < MOST else Care("wake up", [Noop()])
        urgent = _fight(seen, mover) or _dodge(seen, mover, digs=digs)
        if urgent is not None:
            return urgent
        needs = _drink(seen, mover) or _eat(seen, mover)
        if starving(seen) and seen.vitals["energy"] > 0:
            return needs
        if busy and seen.vitals["energy"] > 0 and seen.vitals["health"] > WEAK:
            return None
        room = enclosure(mover.know)
        if room is not None:
            self._site, self._searching = None, 0
            return _inside(seen, mover, self.idle) or needs
        return self._take_cover(seen, mover, digs=digs) or (None if digs else _nap(seen, mover)) or needs

    def _take_cover(self, seen: CrafterObservation, mover: Mover, *, digs: bool) -> Care | None:
        """At dusk into rock or a hut; at any time into a hut when worn out."""
        dark, open_ = is_dark(seen.step), exposed(mover)
        if self._site is None and digs and open_ and (dark or seen.step % DAY >= EVENING):
            under = _underground(seen, mover)
            if under is not None:
                return under
        if _must_hide(seen, mover) or (self._site is not None and dark):
            return self.hide(seen, mover, digs=digs)
        return None

    def hide(self, seen: CrafterObservation, mover: Mover, *, digs: bool) -> Care | None:
        """The next action towards a closed chamber; None when none can be made now."""
        if seen.step < self._without:
            return None
        stones = seen.bag.get("stone", 0) if digs else 0  # nobody closes what it could not open alone
        can_dig = digs and bool(seen.bag.get("wood_pickaxe"))
        site = self._site
        if site is None or not still_good(site, mover.know, stones):
            dark = is_dark(seen.step)
            dislike = np.where(meadows(mover.know.grid, EXPOSED), MEADOW_COST if dark else 0, 0)
            found = find_site(mover.know, mover.ways, stones, dislike, can_dig=can_dig)
            site = found[0] if found is not None and found[1] <= (FARTHEST if dark else NEAR_BY) else None
        self._site, self._searching = site, self._searching + 1
        actions = build(site, mover) if site is not None else []
        self._waiting = self._waiting + 1 if actions and isinstance(actions[0], Noop) else 0
        if self._searching > LONGEST_SEARCH or self._waiting > PATIENCE or not actions:
            self._site, self._searching, self._without = None, 0, seen.step + GIVEN_UP
            return None
        return Care("make a shelter", actions)


def _nap(seen: CrafterObservation, mover: Mover) -> Care | None:
    """Sleep in the open, for who cannot make a chamber alone: around noon, or with nothing left; not beside foes."""
    energy = seen.vitals["energy"]
    noon = NOON[0] <= seen.step % DAY <= NOON[1] - MOST * WAKING
    if energy > (SLEEPY if noon else 0) or any(mover.know.mobs(foe) for foe in (ZOMBIE, SKELETON, ARROW)):
        return None
    return Care("sleep in the open", [Sleep()])


def _fight(seen: CrafterObservation, mover: Mover) -> Care | None:
    know = mover.know
    for symbol, name in ((ZOMBIE, "zombie"), (SKELETON, "skeleton")):
        foes = know.mobs(symbol)
        if foes and apart(foes[0], know.me) == 1:
            return Care(f"fight the {name}", [Collect.model_validate({"target": name})])
    return None


def _dodge(seen: CrafterObservation, mover: Mover, *, digs: bool) -> Care | None:
    """Out of the line of an arrow that comes near, or a stone into it, if one can take it up again."""
    know = mover.know
    for arrow in know.mobs(ARROW):
        lined = arrow[0] == know.me[0] or arrow[1] == know.me[1]
        if apart(arrow, know.me) > 2 or not lined or not know.approaches(arrow) or not _clear_line(mover, arrow):
            continue
        direction = _direction(know.me, arrow)
        if digs and know.facing == direction and mover.bag.get("stone") and know.free(ahead(know.me, direction)):
            return Care("stop the arrow", [put("stone")])
        sides = [d for d in (1, 2, 3, 4) if know.free(c := ahead(know.me, d)) and c[0] != arrow[0] and c[1] != arrow[1]]
        if sides:
            return Care("out of the arrow's way", [move(sides[0])])
    return None


def _direction(here: Cell, there: Cell) -> int:
    if here[0] == there[0]:
        return 1 if there[1] < here[1] else 2
    return 3 if there[0] < here[0] else 4


def _clear_line(mover: Mover, foe: Cell) -> bool:
    direction, cell = _direction(mover.know.me, foe), mover.know.me
    for _ in range(apart(foe, mover.know.me) - 1):
        cell = ahead(cell, direction)
        if not (mover.know.free(cell) or mover.know.material(cell) == WATER or mover.know.bodies.get(cell) == ARROW):
            return False
    return True


def hungry(seen: CrafterObservation) -> bool:
    """Whether the search for cows comes before work."""
    return seen.vitals["food"] <= HUNGRY


def starving(seen: CrafterObservation) -> bool:
    """Whether food or water cannot wait: by day soon, by night if one would not live to see the dawn in good health."""
    least = min(seen.vitals["food"], seen.vitals["drink"])
    if not is_dark(seen.step):
        return least <= 1
    left = DAWN - seen.step % DAY
    return least == 0 and seen.vitals["health"] - left / STARVE_STEPS < 3


def _underground(seen: CrafterObservation, mover: Mover) -> Care | None:
    """To the nearest rock without grass around, where one can work through the night."""
    grid = mover.know.grid
    if not seen.bag.get("wood_pickaxe"):
        return None
    safe = ((grid == STONE) | (grid == PATH)) & ~meadows(grid, MEADOW)
    away = np.where(safe, mover.ways.away, FAR)
    cell = divmod(int(np.argmin(away)), int(grid.shape[1]))
    most = LATE if is_dark(seen.step) else FARTHEST
    return Care("go underground", mover.to(cell)) if away[cell] <= most else None


def _must_hide(seen: CrafterObservation, mover: Mover) -> bool:
    energy, health = seen.vitals["energy"], seen.vitals["health"]
    dark = is_dark(seen.step)
    if dark and exposed(mover):
        return True
    if energy <= (TIRED if dark else EXHAUSTED):
        return True
    if health <= HURT and NOON[1] <= seen.step % DAY:
        return True
    return health <= WEAK and min(seen.vitals["food"], seen.vitals["drink"]) > 2


def _inside(seen: CrafterObservation, mover: Mover, idle: bool) -> Care | None:
    """What one does in a closed chamber; None to leave it."""
    energy, health = seen.vitals["energy"], seen.vitals["health"]
    food, drink = seen.vitals["food"], seen.vitals["drink"]
    if drink < MOST - 1 and any(mover.know.material(c) == WATER for c in beside([mover.know.me])):
        return Care("drink", [take("water")])
    dark = is_dark(seen.step)
    if _lurking(seen, mover):
        return Care("wait for the zombies to vanish", [Sleep() if energy < MOST else Noop()])
    if energy <= TIRED or (energy < MOST and (dark or health < SOUND)):
        return Care("sleep", [Sleep()])
    if (dark and (idle or exposed(mover))) or (health < SOUND and min(food, drink) > 1):
        return Care("rest", [Noop(num_steps=5)])
    return None


def _lurking(seen: CrafterObservation, mover: Mover) -> bool:
    """Whether zombies of the night wait outside that will vanish soon, while one can still wait."""
    time = seen.step % DAY
    if seen.step < DUSK or LINGER <= time < DAWN or seen.vitals["health"] <= WEAK:
        return False
    return bool(mover.know.mobs(ZOMBIE))


def _drink(seen: CrafterObservation, mover: Mover) -> Care | None:
    have = seen.vitals["drink"]
    if have >= MOST - 1:
        return None
    near = _nearest_beside(mover, mover.ways.closest(mover.know.grid == WATER))
    if near is None or not _worth(seen, have, mover.ways.to(near[0]), 21):
        return None
    if near[0] != mover.know.me:
        return Care("go and drink", mover.to(near[0]), near[1], "water")
    sips = 1 if mover.know.mobs(ZOMBIE) else min(8, MOST - have)
    return Care("drink", [take("water")] * sips, near[1], "water")


def _eat(seen: CrafterObservation, mover: Mover) -> Care | None:
    have = seen.vitals["food"]
    if have > 7:
        return None
    near = _nearest_beside(mover, list(mover.know.cows))
    if near is None or not _worth(seen, have, mover.ways.to(near[0]), 26):
        return None
    if near[0] == mover.know.me and mover.know.bodies.get(near[1]) == COW:
        return Care("eat", [take("cow")], near[1], "cow")
    return Care("go to the cow", mover.to(near[0]), near[1], "cow")


def _worth(seen: CrafterObservation, have: int, steps: int, lasts: int) -> bool:
    """Whether to go now for something so far away, of which a point lasts so many steps."""
    time = seen.step % DAY
    if is_dark(seen.step):
        return steps <= 2 or starving(seen)
    if (SUPPER if lasts > 21 else NIGHTCAP) <= time < DUSK and have <= (6 if lasts > 21 else 7):
        return steps <= SUPPER_STEPS or have <= 4
    near = NEAR_ENOUGH.get(have, 99)
    return steps <= near or steps + 40 > lasts * have


def _nearest_beside(mover: Mover, cells: Iterable[Cell]) -> tuple[Cell, Cell] | None:
    """(where to stand, the cell) for the nearest of these cells that can be reached; None for none."""
    best = min(cells, key=lambda cell: (mover.ways.to_side(cell), cell), default=None)
    if best is None:
        return None
    stand = mover.ways.nearest(beside([best]))
    return (stand, best) if stand is not None else None
