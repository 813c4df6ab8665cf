"""A member of a team that explores, gathers and crafts its way up the technology tree, and tells what it finds.

It knows its own observations and what it has been told, nothing else. Where one agent suffices for everything, each
member goes its own way and tells of ore. Where a resource takes several, the members form squads: the captain (the
leader, else the member of the smallest index in the squad) calls them to a cell, they collect there for a while, and
whoever has nothing to do keeps close to the captain. Everybody gets one unit of what is taken together, so everybody
makes its own tools. Without messages members gather around what the captain stands at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from emcoop.core.types import NO_TASK, AgentId, Choice, Interrupt, Outgoing, Plan, TaskId, agent_index
from emcoop.envs.ma_crafter.actions import Collect, Craft, Noop, Sleep
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
from emcoop.envs.ma_crafter.knowledge import ZOMBIE, Cell, Ground, Knowledge, apart
from emcoop.envs.ma_crafter.moving import LOADED, STRIDE, Mover, take
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
from emcoop.envs.ma_crafter.survival import is_dark, look_after
from emcoop.envs.ma_crafter.talk import Call, say_found, understand
from emcoop.envs.ma_crafter.technology import Need, Technology
from emcoop.envs.policy import PolicyView

NEAR_STATION = 30
"""A station farther than so many steps is built anew."""
NIGHT_GRASS = 5
"""What a step over grass costs in the dark."""
STONES = 3
"""So many stones are kept, where there is rock at hand."""
LONGEST_SEARCH, GIVEN_UP = 30, 60
"""Decisions that the search for a shelter may take; steps without one after it has failed."""
PATIENCE = 12
"""Steps for which a member tries to collect while the others come."""
MEMORY = 40
"""Steps for which a call or a need counts."""
SILENCE = 20
"""Steps after which the same is said again."""
MOST_LOOKED_AT = 12
"""So many of the nearest cells of a kind are looked at as meeting places."""
RESOURCE_KINDS = ("tree", "stone", "coal", "iron", "diamond")
_GROUND = (GRASS, PATH, SAND)
HUNGRY = 4
"""With so little food or drink left, and none known, the search for it comes before work."""
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
        self._hiding, self._no_hiding = 0, 0
        self._read: set[int] = set()
        self._said: tuple[str, int] = ("", -SILENCE)
        self._found: set[Cell] = set()
        self._call: tuple[Call, int] | None = None
        self._captain: AgentId | None = None
        self._needs: dict[AgentId, tuple[str, int]] = {}

    # -- the faculties ---------------------------------------------------------------------------------------------

    def plan(self, view: PolicyView) -> Plan:
        """The body first, then the next thing on the way up the technology tree."""
        scene = self._look(view)
        seen = scene.seen
        if not seen.alive:
            return Plan(NO_TASK, (Noop(num_steps=10),), "dead")
        care = look_after(seen, scene.mover, dig=self._digs() and view.step >= self._no_hiding)
        self._hiding = self._hiding + 1 if care is not None and care.why == "find shelter" else 0
        if self._hiding > LONGEST_SEARCH:
            self._no_hiding = view.step + GIVEN_UP
        if care is not None and care.actions:
            task = scene.know.name(care.target, care.kind) if care.target is not None else NO_TASK
            self._at = care.target
            return Plan(task, tuple(care.actions[:8]), care.why)
        if min(seen.vitals["food"], seen.vitals["drink"]) <= HUNGRY and not is_dark(view.step):
            return self._explore(scene, view, Need("explore"), rock=False)
        return self._work(scene, view)

    def speak(self, view: PolicyView) -> Outgoing | None:
        """Finds, the captain's call and what a member lacks; silence when all that has been said lately."""
        if not view.recipients or not seen_by(view).alive:
            return None
        scene = self._look(view)
        said = self._finds(scene)
        if self._in_squad(view):
            if self._is_captain(view):
                call = self._decide(scene, view)
                said.append(call.say())
            else:
                need = self._need(scene)
                said += [f"NEED {need.things[0]}"] if need.verb == "collect" else []
        text = ". ".join(said)
        if not text or (text == self._said[0] and view.step < self._said[1] + SILENCE):
            return None
        self._said = (text, view.step)
        return Outgoing(view.recipients, text)

    def interrupt(self, view: PolicyView) -> Interrupt:
        """Replan for a new call to gather, unless asleep or fighting."""
        before = self._call
        self._look(view)
        busy = view.plan is not None and isinstance(view.plan.actions[-max(view.plan_left, 1)], Sleep | Collect)
        new = self._call is not None and (before is None or before[0] != self._call[0])
        return Interrupt(Choice.REPLAN if new and not busy and self._in_squad(view) else Choice.RESUME)

    # -- squads ----------------------------------------------------------------------------------------------------

    def _in_squad(self, view: PolicyView) -> bool:
        return len(view.team) > 1 and self._squad_size() > 1

    def _squad_size(self) -> int:
        return max(self._level.required(kind) for kind in RESOURCE_KINDS)

    def _captain_of(self, view: PolicyView) -> AgentId:
        """The leader who has called before, else the smallest index of the squad; a small rest joins the last one."""
        if view.role.name == "leader":
            return view.agent
        if view.role.name == "follower" and self._captain is not None:
            return self._captain
        size, team = self._squad_size(), len(view.team)
        squads = max(1, team // size)
        return view.team[min(agent_index(view.agent) // size, squads - 1) * size]

    def _is_captain(self, view: PolicyView) -> bool:
        return self._captain_of(view) == view.agent

    def _decide(self, scene: Scene, view: PolicyView) -> Call:
        """The captain's call: the resource that somebody lacks first, where enough can stand around it."""
        need = self._need(scene)
        recent = [kind for kind, step in self._needs.values() if step + MEMORY > view.step]
        wanted = [kind for kind in (*need.things, *recent) if need.verb == "collect" and kind in RESOURCE_KINDS]
        kinds = sorted(set(wanted), key=RESOURCE_KINDS.index)
        if kinds and kinds[0] in ("tree", "stone"):
            kinds = kinds[:1]
        for kind in kinds:
            cell = self._meeting(scene, kind)
            if cell is not None:
                return Call("GATHER", kind, cell)
        return Call("FOLLOW", "", scene.know.me)

    def _meeting(self, scene: Scene, kind: str) -> Cell | None:
        """The nearest cell of this kind around which as many agents can stand as it takes."""
        required, reach = self._level.required(kind), self._level.cooperative_collection.distance_threshold
        for cell in scene.ways.closest(scene.know.grid == MATERIALS.index(kind), MOST_LOOKED_AT):
            if cell not in self._shy and len(self._stands(scene, cell, reach)) >= required:
                return cell
        return None

    def _stands(self, scene: Scene, cell: Cell, reach: int) -> list[Cell]:
        """The cells from which this one can be collected and to which there is a way; teammates may stand there."""
        know = scene.know
        rows = range(-reach, reach + 1)
        around = [(cell[0] + r, cell[1] + c) for r in rows for c in rows if 0 < abs(r) + abs(c) <= reach]
        mates = {(mate.row, mate.col) for mate in scene.seen.teammates if mate.in_view}
        return [
            c for c in around if c == know.me or c in mates or (scene.ways.to(c) < FAR and know.material(c) in _GROUND)
        ]

    def _join(self, scene: Scene, kind: str, cell: Cell) -> Plan | None:
        """Go to a free place around the cell and collect it, for as long as others may take to come."""
        reach = self._level.cooperative_collection.distance_threshold
        free = [c for c in self._stands(scene, cell, reach) if c == scene.know.me or scene.know.free(c)]
        stand = scene.ways.nearest(free)
        if stand is None:
            return None
        self._at = cell
        name = scene.know.name(cell, kind)
        if stand != scene.know.me:
            return self._done(name, scene.mover.to(stand), f"go to the {kind}")
        return Plan(name, (take(kind, PATIENCE),), f"collect {kind} together")

    def _squad_plan(self, scene: Scene, view: PolicyView, need: Need) -> Plan:
        """What a member of a squad does once its own tools and vitals are seen to."""
        if self._is_captain(view):
            call = self._decide(scene, view)
            plan = self._join(scene, call.thing, call.cell) if call.verb == "GATHER" else None
            return plan or self._lead_on(scene, view, need)
        heard = self._order(scene, view)
        if (
            heard is not None
            and heard.verb == "GATHER"
            and scene.know.material(heard.cell)
            in (
                UNKNOWN,
                MATERIALS.index(heard.thing),
            )
        ):
            plan = self._join(scene, heard.thing, heard.cell)
            if plan is not None:
                return plan
        return self._follow(scene, view, heard)

    def _order(self, scene: Scene, view: PolicyView) -> Call | None:
        """What the captain has called for lately; without a word of it, what it seems to be at."""
        if self._call is not None and self._call[1] + MEMORY > view.step:
            return self._call[0]
        captain = next((m for m in scene.seen.teammates if m.id == self._captain_of(view) and m.in_view), None)
        need = self._need(scene)
        if captain is None or captain.row is None or captain.col is None or need.verb != "collect":
            return None
        reach = self._level.cooperative_collection.distance_threshold
        for kind in need.things:
            near = [c for c in scene.know.cells(MATERIALS.index(kind)) if apart(c, (captain.row, captain.col)) <= reach]
            if near and kind in RESOURCE_KINDS:
                return Call("GATHER", kind, near[0])
        return None

    def _follow(self, scene: Scene, view: PolicyView, heard: Call | None) -> Plan:
        """Keep close to the captain, where it is or was last."""
        captain = next(m for m in scene.seen.teammates if m.id == self._captain_of(view))
        place = (captain.row, captain.col) if captain.row is not None and captain.col is not None else None
        if heard is not None and heard.verb == "FOLLOW" and not captain.in_view:
            place = heard.cell
        self._at = None
        if place is None or apart(place, scene.know.me) <= 2:
            return Plan(NO_TASK, (Noop(num_steps=2),), "wait for the captain")
        near = scene.ways.nearest(c for c in beside(beside([place])) if scene.know.free(c))
        steps = scene.mover.to(near) if near is not None else []
        return Plan(NO_TASK, tuple(steps) or (Noop(),), "follow the captain")

    def _lead_on(self, scene: Scene, view: PolicyView, need: Need) -> Plan:
        """Explore, but not faster than the squad follows."""
        mates = [m for m in scene.seen.teammates if not m.in_view and not m.asleep]
        if mates and view.step % (2 * STRIDE) < STRIDE:
            return Plan(NO_TASK, (Noop(num_steps=2),), "wait for the squad")
        return self._explore(scene, view, need)

    # -- what it knows ---------------------------------------------------------------------------------------------

    def _look(self, view: PolicyView) -> Scene:
        seen = seen_by(view)
        know = self._know
        know.update(seen, self._ground(view))
        self._hear(view)
        if view.feedback and self._at is not None:
            self._shy[self._at] = view.step + SHY
        self._shy = {cell: until for cell, until in self._shy.items() if until > view.step}
        cost = entering(know, self._digging(seen))
        if is_dark(view.step) and self._digs() and seen.bag.get("wood_pickaxe"):
            cost[know.grid == GRASS] = NIGHT_GRASS
        for cell in self._shy:
            if know.inside(cell) and cell != know.me:
                cost[cell] = 0
        stride = 2 if know.mobs(ZOMBIE) else 6
        mover = Mover(know, Ways.over(cost, know.me), seen.bag, self._level.bag.cap, stride)
        return Scene(seen, know, mover)

    def _ground(self, view: PolicyView) -> Ground | None:
        """A map that is better than what the agent itself remembers; None without one."""
        return None

    def _hear(self, view: PolicyView) -> None:
        for message in (*view.conversation, *view.unread):
            if message.id in self._read or message.sender == view.agent or message.sender not in view.team:
                continue
            self._read.add(message.id)
            heard = understand(message.content)
            for kind, cell in heard.found:
                self._know.hear_of(cell, MATERIALS.index(kind))
            if heard.need is not None:
                self._needs[message.sender] = (heard.need, view.step)
            if heard.call is not None and view.role.name == "follower":
                self._captain = message.sender
            if heard.call is not None and message.sender == self._captain_of(view):
                self._call = (heard.call, view.step)

    def _finds(self, scene: Scene) -> list[str]:
        """Ore that this agent has seen itself and not told of; at most four at a time."""
        finds: list[str] = []
        for kind in ("diamond", "iron", "coal"):
            for cell in scene.know.cells(MATERIALS.index(kind)):
                if cell not in self._found and cell not in scene.know.told and len(finds) < 4:
                    self._found.add(cell)
                    finds.append(say_found(kind, cell))
        return finds

    def _digs(self) -> bool:
        return self._level.required("stone") == 1

    def _digging(self, seen: CrafterObservation) -> Digging:
        """What this agent can clear alone with its tools."""
        costs: list[tuple[int, int]] = []
        for material, kind in ((TREE, "tree"), (STONE, "stone"), (COAL, "coal"), (IRON, "iron"), (DIAMOND, "diamond")):
            tool = self._level.tool(kind)
            if self._level.required(kind) > 1 or (tool is not None and not seen.bag.get(tool)):
                continue
            room = LOADED if kind == "stone" else self._level.bag.cap
            full = seen.bag.get(GIVES[kind], 0) >= room
            if not full or kind == "stone":
                costs.append((material, SHED_COST if full else DIG_COST))
        if self._digs() and seen.bag.get("stone", 0) and seen.bag.get("wood_pickaxe", 0):
            costs.append((WATER, BRIDGE_COST))
        return Digging(tuple(costs))

    # -- what it does ----------------------------------------------------------------------------------------------

    def _need(self, scene: Scene) -> Need:
        """The next thing on the way up the technology tree."""

        def near(station: str) -> bool:
            return self._station(scene, station) is not None

        return self._tree.next(scene.seen.bag, near, frozenset(scene.seen.achieved))

    def _work(self, scene: Scene, view: PolicyView) -> Plan:
        need = self._need(scene)
        stock = self._stock(scene)
        if stock is not None:
            return stock
        if self._in_squad(view) and need.verb in ("collect", "explore"):
            return self._squad_plan(scene, view, need)
        if need.verb == "collect":
            plan = self._collect(scene, need)
        elif need.verb == "craft":
            plan = self._craft(scene, need.things[0])
        elif need.verb == "place":
            plan = self._place(scene, need.things[0])
        else:
            plan = None
        return plan or self._explore(scene, view, need)

    def _stock(self, scene: Scene) -> Plan | None:
        """A few stones more, where they are at hand."""
        bag = scene.seen.bag
        if not self._digs() or not bag.get("wood_pickaxe") or bag.get("stone", 0) >= STONES:
            return None
        around = scene.mover.anywhere(3)
        rock = [cell for cell in beside(around) if scene.know.material(cell) == STONE and cell not in self._shy]
        return self._collect(scene, Need("collect", ("stone",))) if rock else None

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

    def _explore(self, scene: Scene, view: PolicyView, need: Need, *, rock: bool = True) -> Plan:
        rock = rock and bool(scene.seen.bag.get("wood_pickaxe")) and need.things != ("tree",)
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
