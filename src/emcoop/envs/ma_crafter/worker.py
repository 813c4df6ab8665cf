"""One agent at work: what it needs next on the way up the technology tree, and how it gets there.

`scripted` adds the body's needs and messages, `squads` what takes several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.core.types import NO_TASK, Plan, TaskId, agent_index
from emcoop.envs.ma_crafter.actions import Craft, Noop
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import (
    COAL,
    DIAMOND,
    FURNACE,
    GRASS,
    IRON,
    MATERIALS,
    PATH,
    SAND,
    STONE,
    TABLE,
    TREE,
    UNKNOWN,
    WATER,
)
from emcoop.envs.ma_crafter.knowledge import Cell, Ground, Knowledge
from emcoop.envs.ma_crafter.moving import Mover
from emcoop.envs.ma_crafter.observe import CrafterObservation
from emcoop.envs.ma_crafter.planner import (
    BRIDGE_COST,
    DIG_COST,
    FAR,
    MOST_COST,
    Costs,
    Digging,
    Ways,
    beside,
    frontier,
    in_view,
    spread,
)
from emcoop.envs.ma_crafter.survival import Body, is_dark
from emcoop.envs.ma_crafter.technology import Need, Technology
from emcoop.envs.policy import PolicyView

NEAR_STATION, FAR_STATION, AT_HAND, BUSY_STEPS = 12, 60, 6, 25
"""How far one goes to a station if one could build another, and if not; for a sword; and in spite of lesser needs."""
LAST_WAY = 100
"""With the goal so near one goes on in spite of hunger, thirst and the night."""
NIGHT_GRASS = 5
"""What a step over grass costs in the dark."""
STONES = 5
"""So many stones are kept, where there is rock at hand."""
RESOURCE_KINDS = ("tree", "stone", "coal", "iron", "diamond")
GROUND = (GRASS, PATH, SAND)
FORGOTTEN = 900
"""Steps after which grass may have cows again as if it had never been seen."""
HOPE_NEAR, HOPE = 0.6, 0.3
"""How much of unseen ground near grass is grass, and elsewhere."""
SETTING_OUT, LEAST_HOPE = 2, 2.0
"""Steps that a look at other grass costs besides the way; so many cells of hope are worth one."""
FAR_ROCK, SETTLED = 50, 100
"""The first table is put beside rock, if it is nearer than this or may be found before this step."""
SHY = 12
"""Steps for which a cell is left alone after a failure there."""


def seen_by(view: PolicyView) -> CrafterObservation:
    """The view's observation. Raises TypeError for that of another world."""
    if not isinstance(view.observation, CrafterObservation):
        raise TypeError(f"a policy of MA-Crafter cannot read a {type(view.observation).__name__}")
    return view.observation


def fear(cost: Costs, know: Knowledge) -> None:
    """Make ways near skeletons dearer."""
    for row, col in know.archers:
        part = cost[max(0, row - 5) : row + 6, max(0, col - 5) : col + 6]
        part[part > 0] = np.minimum(part[part > 0] + 4, MOST_COST)


def keep_off(cost: Costs, sleeper: Cell, me: Cell) -> None:
    """Bar the ways near a sleeping teammate, so that nobody takes a wall of its chamber."""
    row, col = sleeper
    mine = cost[me]
    cost[max(0, row - 3) : row + 4, max(0, col - 3) : col + 4] = 0
    cost[me] = mine


@dataclass(frozen=True)
class Scene:
    """One moment as a member sees it."""

    seen: CrafterObservation
    know: Knowledge
    mover: Mover

    @property
    def ways(self) -> Ways:
        """The ways from here."""
        return self.mover.ways


class Worker:
    """What a member knows and does on its own."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._tree = Technology(level)
        self._know = Knowledge()
        self._shy: dict[Cell, int] = {}
        self._at: Cell | None = None
        self._body = Body()

    def _ground(self, view: PolicyView) -> Ground | None:
        """A map that is better than what the agent itself remembers; None without one."""
        return None

    def _digs(self) -> bool:
        return self._level.required("stone") == 1

    def _digging(self, seen: CrafterObservation) -> Digging:
        """What this agent can clear alone with its tools."""
        costs: list[tuple[int, int]] = []
        for material, kind in ((TREE, "tree"), (STONE, "stone"), (COAL, "coal"), (IRON, "iron"), (DIAMOND, "diamond")):
            tool = self._level.tool(kind)
            if self._level.required(kind) > 1 or (tool is not None and not seen.bag.get(tool)):
                continue
            costs.append((material, DIG_COST))
        if self._digs() and seen.bag.get("stone", 0) and seen.bag.get("wood_pickaxe", 0):
            costs.append((WATER, BRIDGE_COST))
        return Digging(tuple(costs))

    def _need(self, scene: Scene) -> Need:
        """The next thing on the way up the technology tree."""

        def near(station: str) -> bool:
            uses = self._level.recipe(station).uses
            affordable = all(scene.seen.bag.get(item, 0) > count for item, count in uses.items())
            return self._station(scene, station, NEAR_STATION if affordable else FAR_STATION) is not None

        def at_hand(station: str) -> bool:
            return self._station(scene, station, AT_HAND) is not None

        return self._tree.next(scene.seen.bag, near, frozenset(scene.seen.achieved), at_hand)

    def _busy(self, scene: Scene) -> bool:
        """Whether something is to be made within a few steps, or the goal is near enough."""
        need = self._need(scene)
        if need.verb == "craft":
            return self._station(scene, self._level.recipe(need.things[0]).near[0], BUSY_STEPS) is not None
        if need.verb != "collect" or need.things != (self._level.goal,) or self._level.required(need.things[0]) > 1:
            return False
        last = scene.ways.closest(scene.know.grid == MATERIALS.index(need.things[0]))
        return bool(last) and scene.ways.to_side(last[0]) <= LAST_WAY

    def _work(self, scene: Scene, view: PolicyView) -> Plan:
        need = self._need(scene)
        stock = self._stock(scene)
        if stock is not None:
            return stock
        together = self._with_others(scene, view, need)
        if together is not None:
            return together
        if need.verb == "collect":
            plan = self._collect(scene, need)
        elif need.verb == "craft":
            plan = self._craft(scene, need.things[0])
        elif need.verb == "place":
            plan = self._place(scene, need.things[0], view.step)
        else:
            plan = None
        return plan or self._explore(scene, view, need)

    def _with_others(self, scene: Scene, view: PolicyView, need: Need) -> Plan | None:
        """What is done together with others; None to work alone."""
        return None

    def _stock(self, scene: Scene) -> Plan | None:
        """A few stones more, where they are at hand."""
        bag = scene.seen.bag
        if not self._digs() or not bag.get("wood_pickaxe") or bag.get("stone", 0) >= STONES or self._body.idle:
            return None
        around = scene.mover.anywhere(3)
        rock = [cell for cell in beside(around) if scene.know.material(cell) == STONE and cell not in self._shy]
        return self._collect(scene, Need("collect", ("stone",))) if rock else None

    def _station(self, scene: Scene, station: str, within: int = FAR_STATION) -> Cell | None:
        """The nearest known station of this kind that is not far."""
        material = TABLE if station == "table" else FURNACE
        best: tuple[int, Cell] | None = None
        for cell in scene.know.cells(material):
            steps = min(scene.ways.to(stand) for stand in beside([cell]))
            if steps <= within and (best is None or (steps, cell) < best):
                best = steps, cell
        return best[1] if best is not None else None

    def _collect(self, scene: Scene, need: Need) -> Plan | None:
        found = [
            (scene.ways.to_side(cell), cell, kind)
            for kind in need.things
            for cell in scene.ways.closest(scene.know.grid == MATERIALS.index(kind), 4)
            if cell not in self._shy
        ]
        if not found:
            return None
        _, cell, kind = min(found)
        stand = scene.ways.nearest(beside([cell]))
        if stand is None:
            return None
        self._at = cell
        actions: list[BaseModel] = scene.mover.to(stand) if stand != scene.know.me else scene.mover.clear(cell)
        return self._done(scene.know.name(cell, kind), actions, f"collect {kind}")

    def _done(self, task: TaskId, actions: list[BaseModel], why: str) -> Plan | None:
        return Plan(task, tuple(actions[:8]), why) if actions else None

    def _craft(self, scene: Scene, item: str) -> Plan | None:
        station = self._station(scene, self._level.recipe(item).near[0])
        if station is None:
            return None
        self._at = None
        stand = scene.ways.nearest(beside([station]))
        if stand is None:
            return None
        actions: list[BaseModel] = [Craft.model_validate({"item": item})]
        if stand != scene.know.me:
            actions = scene.mover.to(stand)
        return self._done(f"make_{item}", actions, f"craft a {item}")

    def _place(self, scene: Scene, thing: str, view_step: int) -> Plan | None:
        recipe = self._level.recipe(thing)
        ground = [MATERIALS.index(name) for name in recipe.where]
        stands = scene.mover.anywhere(4)
        if thing == "table" and not scene.seen.bag.get("wood_pickaxe") and self._digs():
            rock = scene.ways.closest(scene.know.grid == STONE)
            if rock and scene.ways.to_side(rock[0]) > 4:
                if scene.ways.to_side(rock[0]) < FAR_ROCK:
                    self._at = None
                    stand = scene.ways.nearest(beside(rock))
                    return self._done("place_table", scene.mover.to(stand) if stand else [], "go to the rock")
            elif not rock and view_step < SETTLED:
                return None
        for name in recipe.near:
            station = self._station(scene, name)
            if station is None:
                return None
            around = [(station[0] + r, station[1] + c) for r in (-1, 0, 1) for c in (-1, 0, 1)]
            stands = [cell for cell in around if scene.ways.to(cell) < FAR]
        self._at = None
        return self._done(f"place_{thing}", scene.mover.put_from(thing, stands, ground), f"place a {thing}")

    def _explore(self, scene: Scene, view: PolicyView, need: Need, *, rock: bool = True) -> Plan:
        rock = rock and bool(scene.seen.bag.get("wood_pickaxe")) and need.things != ("tree",)
        cell = frontier(scene.know.grid, scene.ways, rock=rock, bias=self._direction(scene, view))
        self._at = cell
        actions = scene.mover.to(cell) if cell is not None else []
        if not actions and is_dark(view.step):
            self._body.idle = True
            care = self._body.hide(scene.seen, scene.mover, digs=self._digs())
            return Plan(NO_TASK, tuple(care.actions) if care is not None else (Noop(),), "wait for the day")
        return Plan(NO_TASK, tuple(actions[:8]) or (Noop(),), "explore")

    def _forage(self, scene: Scene, view: PolicyView) -> Plan:
        """To grass that has not been looked at for long, or never, where there may be cows."""
        know, away = scene.know, scene.ways.away
        unseen = know.grid == UNKNOWN
        age = np.minimum(view.step - know.looked, FORGOTTEN)
        hope = np.where(know.grid == GRASS, age / FORGOTTEN, 0.0)
        hope[unseen] = np.where(spread(know.grid == GRASS, 3)[unseen], HOPE_NEAR, HOPE)
        around = in_view(hope)
        value = (away + SETTING_OUT) / np.maximum(around, 1e-9)
        value[(away < 2) | (away >= FAR) | (around < LEAST_HOPE)] = np.inf
        row, col = divmod(int(np.argmin(value)), int(value.shape[1]))
        if not np.isfinite(value[row, col]):
            return self._explore(scene, view, Need("explore"), rock=False)
        return Plan(NO_TASK, tuple(scene.mover.to((row, col))[:8]) or (Noop(),), "look for cows")

    def _direction(self, scene: Scene, view: PolicyView) -> NDArray[np.float64] | None:
        """Each member of a team prefers its own part of the world, so that they spread."""
        if len(view.team) == 1:
            return None
        rows, cols = scene.know.grid.shape
        r, c = np.mgrid[0:rows, 0:cols]
        angle = np.arctan2(r - rows // 2, c - cols // 2)
        own = 2 * math.pi * agent_index(view.agent) / len(view.team)
        bias: NDArray[np.float64] = 6.0 * (1 - np.cos(angle - own))
        return bias
