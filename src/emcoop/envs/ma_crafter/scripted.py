"""A member of a team that explores, gathers and crafts its way up the technology tree, and tells what it finds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.core.types import NO_TASK, Choice, Interrupt, Outgoing, Plan, TaskId, agent_index
from emcoop.envs.ma_crafter.actions import Craft, Noop
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import COAL, DIAMOND, FURNACE, IRON, MATERIALS, STONE, TABLE, TREE, WATER
from emcoop.envs.ma_crafter.knowledge import ZOMBIE, Cell, Knowledge, apart
from emcoop.envs.ma_crafter.moving import Mover
from emcoop.envs.ma_crafter.observe import CrafterObservation
from emcoop.envs.ma_crafter.planner import (
    BRIDGE_COST,
    DIG_COST,
    FAR,
    SHED_COST,
    Digging,
    Ways,
    beside,
    entering,
    frontier,
)
from emcoop.envs.ma_crafter.recipes import GIVES
from emcoop.envs.ma_crafter.survival import look_after
from emcoop.envs.ma_crafter.technology import Need, Technology
from emcoop.envs.policy import PolicyView

NEAR_STATION = 30
"""A station farther than so many steps is built anew."""
SHY = 12
"""Steps for which a cell is left alone after a failure there."""


def seen_by(view: PolicyView) -> CrafterObservation:
    """The view's observation. Raises TypeError for that of another world."""
    if not isinstance(view.observation, CrafterObservation):
        raise TypeError(f"a policy of MA-Crafter cannot read a {type(view.observation).__name__}")
    return view.observation


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


class ScriptedPolicy:
    """See the module."""

    privileged = False

    def __init__(self, level: Level) -> None:
        self._level = level
        self._tree = Technology(level)
        self._know = Knowledge()
        self._shy: dict[Cell, int] = {}
        self._at: Cell | None = None

    # -- the faculties ---------------------------------------------------------------------------------------------

    def plan(self, view: PolicyView) -> Plan:
        """The body first, then the next thing on the way up the technology tree."""
        scene = self._look(view)
        seen = scene.seen
        if not seen.alive:
            return Plan(NO_TASK, (Noop(num_steps=10),), "dead")
        care = look_after(seen, scene.mover, dig=self._digs())
        if care is not None and care.actions:
            task = scene.know.name(care.target, care.kind) if care.target is not None else NO_TASK
            self._at = care.target
            return Plan(task, tuple(care.actions[:8]), care.why)
        return self._work(scene, view)

    def speak(self, view: PolicyView) -> Outgoing | None:
        """Nothing yet."""
        return None

    def interrupt(self, view: PolicyView) -> Interrupt:
        """Go on."""
        return Interrupt(Choice.RESUME)

    # -- what it knows ---------------------------------------------------------------------------------------------

    def _look(self, view: PolicyView) -> Scene:
        seen = seen_by(view)
        know = self._know
        know.update(seen)
        if view.feedback and self._at is not None:
            self._shy[self._at] = view.step + SHY
        self._shy = {cell: until for cell, until in self._shy.items() if until > view.step}
        cost = entering(know, self._digging(seen))
        for cell in self._shy:
            if know.inside(cell) and cell != know.me:
                cost[cell] = 0
        stride = 2 if know.mobs(ZOMBIE) else 6
        mover = Mover(know, Ways.over(cost, know.me), seen.bag, self._level.bag.cap, stride)
        return Scene(seen, know, mover)

    def _digs(self) -> bool:
        return self._level.required("stone") == 1

    def _digging(self, seen: CrafterObservation) -> Digging:
        """What this agent can clear alone with its tools."""
        costs: list[tuple[int, int]] = []
        for material, kind in ((TREE, "tree"), (STONE, "stone"), (COAL, "coal"), (IRON, "iron"), (DIAMOND, "diamond")):
            tool = self._level.tool(kind)
            if self._level.required(kind) > 1 or (tool is not None and not seen.bag.get(tool)):
                continue
            full = seen.bag.get(GIVES[kind], 0) >= self._level.bag.cap
            if not full or kind == "stone":
                costs.append((material, SHED_COST if full else DIG_COST))
        if self._digs() and seen.bag.get("stone", 0) and seen.bag.get("wood_pickaxe", 0):
            costs.append((WATER, BRIDGE_COST))
        return Digging(tuple(costs))

    # -- what it does ----------------------------------------------------------------------------------------------

    def _work(self, scene: Scene, view: PolicyView) -> Plan:
        def near(station: str) -> bool:
            return self._station(scene, station) is not None

        need = self._tree.next(scene.seen.bag, near, frozenset(scene.seen.achieved))
        if need.verb == "collect":
            plan = self._collect(scene, need)
        elif need.verb == "craft":
            plan = self._craft(scene, need.things[0])
        elif need.verb == "place":
            plan = self._place(scene, need.things[0])
        else:
            plan = None
        return plan or self._explore(scene, view, need)

    def _station(self, scene: Scene, station: str) -> Cell | None:
        """The nearest known station of this kind that is not far."""
        material = TABLE if station == "table" else FURNACE
        best: tuple[int, Cell] | None = None
        for cell in scene.know.cells(material):
            steps = min(scene.ways.to(stand) for stand in beside([cell]))
            if steps <= NEAR_STATION and (best is None or (steps, cell) < best):
                best = steps, cell
        return best[1] if best is not None else None

    def _collect(self, scene: Scene, need: Need) -> Plan | None:
        best: tuple[int, Cell, Cell, str] | None = None
        for kind in need.things:
            for cell in scene.know.cells(MATERIALS.index(kind)):
                if cell in self._shy or apart(cell, scene.know.me) > (best[0] if best is not None else FAR):
                    continue
                for stand in beside([cell]):
                    key = (scene.ways.to(stand), stand, cell, kind)
                    if key[0] < FAR and (best is None or key < best):
                        best = key
        if best is None:
            return None
        steps, stand, cell, kind = best
        self._at = cell
        actions: list[BaseModel] = scene.mover.clear(cell) if not steps else scene.mover.to(stand)
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

    def _place(self, scene: Scene, thing: str) -> Plan | None:
        recipe = self._level.recipe(thing)
        ground = [MATERIALS.index(name) for name in recipe.where]
        stands = scene.mover.anywhere(4)
        for name in recipe.near:
            station = self._station(scene, name)
            if station is None:
                return None
            around = [(station[0] + r, station[1] + c) for r in (-1, 0, 1) for c in (-1, 0, 1)]
            stands = [cell for cell in around if scene.ways.to(cell) < FAR]
        self._at = None
        return self._done(f"place_{thing}", scene.mover.put_from(thing, stands, ground), f"place a {thing}")

    def _explore(self, scene: Scene, view: PolicyView, need: Need) -> Plan:
        rock = bool(scene.seen.bag.get("wood_pickaxe")) and need.things != ("tree",)
        cell = frontier(scene.know.grid, scene.ways, rock=rock, bias=self._direction(scene, view))
        self._at = cell
        actions = scene.mover.to(cell) if cell is not None else []
        return Plan(NO_TASK, tuple(actions[:8]) or (Noop(),), "explore")

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
