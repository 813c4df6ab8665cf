"""The reference policies of MA-Crafter."""

from __future__ import annotations

from emcoop.core.config import StrictModel, load
from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Choice, Interrupt, Outgoing, Plan
from emcoop.envs.ma_crafter.actions import Collect, Craft, Move, Noop, Place
from emcoop.envs.ma_crafter.env import MACrafter
from emcoop.envs.ma_crafter.scripted import ScriptedPolicy
from emcoop.envs.policy import Policy, PolicyFactory, PolicySeat, PolicyView


class NoOptions(StrictModel):
    """These policies have no options."""


class Silent:
    """Waits, says nothing and goes on with its plan: `noop` as it is; subclasses plan."""

    privileged = False

    def plan(self, view: PolicyView) -> Plan:
        """Wait one step."""
        return Plan(NO_TASK, (Noop(num_steps=1),))

    def speak(self, view: PolicyView) -> Outgoing | None:
        """Silence."""
        return None

    def interrupt(self, view: PolicyView) -> Interrupt:
        """Resume."""
        return Interrupt(Choice.RESUME)


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


def _silent(seat: PolicySeat) -> Policy:
    load(NoOptions, dict(seat.options), "noop")
    return Silent()


def _random(seat: PolicySeat) -> Policy:
    load(NoOptions, dict(seat.options), "random")
    return RandomPolicy()


def _scripted(seat: PolicySeat) -> Policy:
    load(NoOptions, dict(seat.options), "scripted")
    if not isinstance(seat.env, MACrafter):
        raise TypeError(f"a policy of MA-Crafter cannot play {seat.env.name}")
    return ScriptedPolicy(seat.env.layout)


POLICIES: dict[str, PolicyFactory] = {"random": _random, "noop": _silent, "scripted": _scripted}
"""The policies by name."""
