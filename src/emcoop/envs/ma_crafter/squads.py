"""Squads: members who take together what takes several, under a captain.

The captain is the leader, else the member of the smallest index in the squad. It calls the others to a cell, they
collect there for a while, and whoever has nothing to do keeps close to the captain. Everybody gets one unit of what is
taken together, so everybody makes its own tools. Without messages members gather around what the captain stands at.
"""

from __future__ import annotations

from emcoop.core.types import NO_TASK, AgentId, Plan, agent_index
from emcoop.envs.ma_crafter.actions import Noop
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import (
    MATERIALS,
    UNKNOWN,
)
from emcoop.envs.ma_crafter.knowledge import Cell, Knowledge, apart
from emcoop.envs.ma_crafter.moving import STRIDE, take
from emcoop.envs.ma_crafter.planner import (
    FAR,
    beside,
)
from emcoop.envs.ma_crafter.talk import Call
from emcoop.envs.ma_crafter.technology import Need
from emcoop.envs.ma_crafter.worker import GROUND, RESOURCE_KINDS, Scene, Worker
from emcoop.envs.policy import PolicyView

PATIENCE = 12
"""Steps for which a member tries to collect while the others come."""
MEMORY = 40
"""Steps for which a call or a need counts."""
MOST_LOOKED_AT = 12
"""So many of the nearest cells of a kind are looked at as meeting places."""


def picked(know: Knowledge, stand: Cell, material: int, reach: int) -> Cell | None:
    """What collecting takes from a cell, whatever one faces: the nearest of this material, the first row by row."""
    found = [
        (abs(r) + abs(c), (stand[0] + r, stand[1] + c))
        for r in range(-reach, reach + 1)
        for c in range(-reach, reach + 1)
        if abs(r) + abs(c) <= reach and know.material((stand[0] + r, stand[1] + c)) == material
    ]
    return min(found)[1] if found else None


class SquadMember(Worker):
    """What a member does with others."""

    def __init__(self, level: Level) -> None:
        super().__init__(level)
        self._call: tuple[Call, int] | None = None
        self._captain: AgentId | None = None
        self._needs: dict[AgentId, tuple[str, int]] = {}

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
            c
            for c in around
            if (c == know.me or c in mates or (scene.ways.to(c) < FAR and know.material(c) in GROUND))
            and (apart(c, cell) == 1 or picked(know, c, know.material(cell), reach) == cell)
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
        turn = scene.mover.face(cell) if apart(stand, cell) == 1 else []
        return Plan(name, (*turn, take(kind, PATIENCE)), f"collect {kind} together")

    def _with_others(self, scene: Scene, view: PolicyView, need: Need) -> Plan | None:
        """What a member of a squad does once its own tools and vitals are seen to."""
        if not self._in_squad(view) or need.verb not in ("collect", "explore"):
            return None
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
