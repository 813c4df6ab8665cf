"""The reference policies of MA-Crafter: floors (random, noop, greedy), a team that talks (scripted), ceilings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from emcoop.core.config import load
from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Plan
from emcoop.envs.ma_crafter.actions import Collect, Craft, Move, Navigate, Noop, Place
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.env import MACrafter
from emcoop.envs.ma_crafter.moving import take
from emcoop.envs.ma_crafter.oracle import OraclePolicy
from emcoop.envs.ma_crafter.recipes import GIVES
from emcoop.envs.ma_crafter.scripted import ScriptedPolicy
from emcoop.envs.ma_crafter.worker import seen_by
from emcoop.envs.policy import NoOptions, Policy, PolicyFactory, PolicySeat, PolicyView, Quiet


class Silent(Quiet):
    """Waits, says nothing and goes on with its plan: `noop` as it is; subclasses plan."""

    def plan(self, view: PolicyView) -> Plan:
        """Wait one step."""
        return Plan(NO_TASK, (Noop(num_steps=1),))


_CHOICES = (
    *(Move.model_validate({"direction": direction}) for direction in ("left", "right", "up", "down")),
    *(Collect.model_validate({"target": target}) for target in ("wood", "stone", "coal", "iron", "diamond", "drink")),
    *(Place.model_validate({"item": item}) for item in ("table", "furnace")),
    *(Craft.model_validate({"item": item}) for item in ("wood_pickaxe", "stone_pickaxe", "iron_pickaxe")),
)


class RandomPolicy(Silent):
    """One uniformly random one-step action at a time; half of them are moves."""

    def plan(self, view: PolicyView) -> Plan:
        """A move, or one of collecting, placing and crafting."""
        stream = Stream.named(view.seed, "ma-crafter", "random")
        part = _CHOICES[:4] if stream.below(2) else _CHOICES[4:]
        return Plan(NO_TASK, (stream.choice(part),))


class GreedyPolicy(Silent):
    """Takes whatever is nearest of what its tools can take, alone and however many it needs; makes nothing."""

    def plan(self, view: PolicyView) -> Plan:
        """To the nearest resource, then collect; a step aside when nothing can be reached or the last try failed."""
        seen = seen_by(view)
        within = [
            (target.steps, target.id, target)
            for target in seen.targets
            if target.kind in GIVES and target.steps is not None and (target.tool is None or seen.bag.get(target.tool))
        ]
        if not within or view.feedback or not seen.alive or seen.asleep:
            stream = Stream.named(view.seed, "ma-crafter", "greedy")
            return Plan(NO_TASK, (stream.choice(_CHOICES[:4]) if seen.alive and not seen.asleep else Noop(),))
        target = min(within)[2]
        walk = Navigate.model_validate({"object_type": target.kind, "item_id": target.id})
        return Plan(target.name, (walk, take(target.kind)))


def _factory(name: str, make: Callable[[Level], Policy]) -> PolicyFactory:
    def seated(seat: PolicySeat) -> Policy:
        load(NoOptions, dict(seat.options), f"policy {name} of {seat.agent}")
        if not isinstance(seat.env, MACrafter):
            raise TypeError(f"a policy of MA-Crafter cannot play {seat.env.name}")
        return make(seat.env.layout)

    return seated


POLICIES: Mapping[str, PolicyFactory] = {
    "random": _factory("random", lambda level: RandomPolicy()),
    "noop": _factory("noop", lambda level: Silent()),
    "greedy": _factory("greedy", lambda level: GreedyPolicy()),
    "scripted": _factory("scripted", ScriptedPolicy),
    "oracle": _factory("oracle", OraclePolicy),
    "team-oracle": _factory("team-oracle", lambda level: OraclePolicy(level, union=True)),
}
"""Each takes a seat; raises ConfigError for any option."""
