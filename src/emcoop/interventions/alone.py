"""One agent instead of the team: in the team's world, or in one made for it, with all there is to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from emcoop.core.errors import ConfigError, NotApplicable
from emcoop.envs.base import HasFullView
from emcoop.episode.setup import SeatConfig, Setup
from emcoop.interventions.base import reseat

MAZE = "maze"


def solo(setup: Setup, *, budget: Literal["own", "matched"] = "own") -> Setup:
    """The first seat plays the same world alone, under no protocol; the others stand in it and do nothing.

    ``solo`` has one agent's time; ``solo:matched`` as many agent-steps as the whole team: the horizon times its size.
    Where the first death would end the episode, the others' does not: who stands still in MA-Crafter soon dies of it.
    """
    alone = reseat(setup, tuple(range(1, setup.agents)), lambda old: SeatConfig(agent="null"))
    options = {**setup.env_options, **_outliving(setup)}
    alone = alone.model_copy(update={"topology": "individual", "topology_options": {}, "env_options": options})
    if budget == "own":
        return alone
    longer = setup.make_env().horizon * setup.agents
    limits = setup.limits
    if limits.max_steps is not None:
        limits = limits.model_copy(update={"max_steps": limits.max_steps * setup.agents})
    return alone.model_copy(update={"env_options": {**options, "horizon": longer}, "limits": limits})


def _outliving(setup: Setup) -> dict[str, object]:
    """The environment's options with which an agent plays on after the death of its idle mates."""
    level = setup.make_env().parameters().get("level")
    ends = isinstance(level, Mapping) and level.get("on_death") == "end"
    return {"on_death": "continue"} if ends and setup.agents > 1 else {}


def alone(setup: Setup, *, view: Literal["both", "full", "half"] = "both", review: bool = False) -> Setup:
    """The first seat's agent by itself with ``full`` information, where the world can give it: ``alone:full``.

    MA-Crafter: a world made for one agent that knows the whole map; the exchange: one that holds every piece; CUBE: the
    same as ``solo``, since everybody sees the whole board. It does not apply where one agent can never reach the goal.
    The maze: both ``both`` halves in one prompt, the ``full`` map, or one ``half``; there `review` asks for the whole
    way at once, and once more after a look at it (the paper's solo baselines).
    """
    if setup.env == MAZE:
        options = {**setup.env_options, "view": view, "review": review}
        options.pop("mode", None)
        return _by_itself(setup, options)
    if view != "full" or review:
        raise ConfigError(f"alone: {setup.env} has no maps to show to one agent; use alone:full, or solo")
    env = setup.make_env()
    if not isinstance(env, HasFullView):
        raise NotApplicable(f"one agent alone in {setup.env}: it does not say what full information is (HasFullView)")
    full = env.full_view()
    if not full.made_for_one:
        return solo(setup.model_copy(update={"env_options": {**setup.env_options, **full.options}}))
    changed = _by_itself(setup, {**setup.env_options, **full.options})
    reason = changed.make_env().impossible
    if reason is not None:
        why, _, _ = reason.partition(": ")
        raise NotApplicable(f"one agent alone in {setup.env} {setup.level}: {why}")
    return changed


def _by_itself(setup: Setup, options: dict[str, object]) -> Setup:
    changed = {"agents": 1, "env_options": options, "team": setup.seats()[:1], "topology": "individual"}
    return setup.model_copy(update={**changed, "topology_options": {}})
