"""Ceilings: the scripted member with a better map, and squads that need no messages.

`oracle` knows the whole map, `team-oracle` the union of what the team has seen. What a captain would call for follows
from the state alone, so every seat works it out and the team agrees in silence.
"""

from __future__ import annotations

import numpy as np

from emcoop.core.types import Outgoing, agent_index
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import COL, COW, ITEMS, KIND, MOB_COL, MOB_ROW, ROW, TOP, UNKNOWN, VITALS
from emcoop.envs.ma_crafter.knowledge import Ground, Knowledge
from emcoop.envs.ma_crafter.moving import Mover
from emcoop.envs.ma_crafter.planner import Digging, Ways, entering
from emcoop.envs.ma_crafter.scripted import ScriptedPolicy
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.talk import Call
from emcoop.envs.ma_crafter.worker import Scene
from emcoop.envs.policy import PolicyView


def state_of(view: PolicyView) -> CrafterState:
    """The full state. Raises TypeError for a view without one."""
    if not isinstance(view.state, CrafterState):
        raise TypeError("an oracle of MA-Crafter needs the full state")
    return view.state


class OraclePolicy(ScriptedPolicy):
    """A seat of the team that knows the map: all of it, or with `union` what some member has seen."""

    privileged = True

    def __init__(self, level: Level, *, union: bool = False) -> None:
        super().__init__(level)
        self._union = union

    def speak(self, view: PolicyView) -> Outgoing | None:
        """Silence: there is nothing that the others do not know."""
        return None

    def _ground(self, view: PolicyView) -> Ground:
        state = state_of(view)
        if not self._union:
            for mob in state.mobs[: int(state.clock[TOP])]:
                if mob[KIND] == COW:
                    self._know.cows[int(mob[MOB_ROW]), int(mob[MOB_COL])] = view.step
            return state.material
        ground: Ground = state.seen[agent_index(view.agent)].copy()
        for other in state.seen:
            ground = np.where(ground == UNKNOWN, other, ground)
        return ground

    def _order(self, scene: Scene, view: PolicyView) -> Call | None:
        """What the captain calls for, worked out in its place."""
        state, captain = state_of(view), agent_index(self._captain_of(view))
        know = Knowledge(me=(int(state.agents[captain, ROW]), int(state.agents[captain, COL])), grid=scene.know.grid)
        know.bodies = {
            (int(row), int(col)): "x"
            for i, (row, col) in enumerate(state.agents[:, [ROW, COL]])
            if i not in (captain, agent_index(view.agent))
        }
        bag = dict(zip(ITEMS[VITALS:], state.inventory[captain, VITALS:].tolist(), strict=True))
        ways = Ways.over(entering(know, Digging()), know.me)
        seat = Scene(scene.seen.model_copy(update={"bag": bag}), know, Mover(know, ways, bag))
        return self._decide(seat, view)
