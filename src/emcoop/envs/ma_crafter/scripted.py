"""A member of a team that explores, gathers and crafts its way up the technology tree, and tells what it finds.

It knows its own observations and what it has been told, nothing else. The body comes first (`survival`). Where one
agent suffices for everything, each member goes its own way and tells of ore; where a resource takes several, the
members form squads (`squads`).
"""

from __future__ import annotations

from emcoop.core.types import NO_TASK, Choice, Interrupt, Outgoing, Plan
from emcoop.envs.ma_crafter.actions import Collect, Noop, Sleep
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import (
    GRASS,
    MATERIALS,
)
from emcoop.envs.ma_crafter.knowledge import SKELETON, ZOMBIE, Cell
from emcoop.envs.ma_crafter.moving import Mover
from emcoop.envs.ma_crafter.planner import (
    Ways,
    entering,
)
from emcoop.envs.ma_crafter.squads import SquadMember
from emcoop.envs.ma_crafter.survival import EXPOSED, hungry, is_dark, meadows, starving
from emcoop.envs.ma_crafter.talk import say_found, understand
from emcoop.envs.ma_crafter.technology import Need
from emcoop.envs.ma_crafter.worker import NIGHT_GRASS, SHY, Scene, fear, keep_off, seen_by
from emcoop.envs.policy import PolicyView

SILENCE = 20
"""Steps after which the same is said again."""
THIRSTY = 4
"""With so little drink left, and none known, the search for it comes before work."""


class ScriptedPolicy(SquadMember):
    """See the module."""

    privileged = False

    def __init__(self, level: Level) -> None:
        super().__init__(level)
        self._read: set[int] = set()
        self._said: tuple[str, int] = ("", -SILENCE)
        self._found: set[Cell] = set()

    def plan(self, view: PolicyView) -> Plan:
        """The body first, then the next thing on the way up the technology tree."""
        scene = self._look(view)
        seen = scene.seen
        if not seen.alive:
            return Plan(NO_TASK, (Noop(num_steps=10),), "dead")
        busy = self._busy(scene)
        care = self._body.care(seen, scene.mover, digs=self._digs(), busy=busy)
        if care is not None and care.actions:
            task = scene.know.name(care.target, care.kind) if care.target is not None else NO_TASK
            self._at = care.target
            return Plan(task, tuple(care.actions[:8]), care.why)
        if not busy and not (is_dark(view.step) and self._digs()):
            if seen.vitals["drink"] <= THIRSTY and seen.vitals["drink"] <= seen.vitals["food"]:
                return self._explore(scene, view, Need("explore"), rock=False)
            if hungry(seen):
                return self._forage(scene, view)
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
            cost[(know.grid == GRASS) & (cost > 0)] = NIGHT_GRASS
            meadow = meadows(know.grid, EXPOSED)
            if not meadow[know.me] and not starving(seen):
                cost[meadow] = 0
        fear(cost, know)
        for mate in seen.teammates if self._digs() else ():
            if mate.asleep and mate.row is not None and mate.col is not None:
                keep_off(cost, (mate.row, mate.col), know.me)
        for cell in self._shy:
            if know.inside(cell) and cell != know.me:
                cost[cell] = 0
        stride = 1 if know.mobs(ZOMBIE) or know.mobs(SKELETON) or is_dark(view.step) else 4
        mover = Mover(know, Ways.over(cost, know.me), seen.bag, stride)
        return Scene(seen, know, mover)

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
