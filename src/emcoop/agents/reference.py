"""Agents that play an environment's reference policies: the floors and the ceilings of every table.

The environment ships the policies (`emcoop.envs.policy`); here one of them takes a seat. Decisions cost no
tokens; what simulated time they take is for the episode's latency model to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from emcoop.agents.base import Decision, Seat, View
from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.core.types import Interrupt, Json, Outgoing, Plan
from emcoop.envs.base import Grounding, Progress
from emcoop.envs.policy import HasPolicies, Policy

COOPERATION = "cooperation_feedback"
"""The code of what cooperation feedback (paper, equation 15) adds to an agent's step feedback."""


class ReferenceAgent:
    """A policy of the seat's environment as an `Agent`; it acts by the environment's own grounding."""

    instant = True

    def __init__(self, name: str, seat: Seat, policy: Policy) -> None:
        self.name = name
        self.privileged = policy.privileged
        self._seat = seat
        self._policy = policy

    async def plan(self, view: View) -> Decision[Plan]:
        return Decision(self._policy.plan(_own(view)))

    async def speak(self, view: View) -> Decision[Outgoing | None]:
        return Decision(self._policy.speak(_own(view)))

    async def interrupt(self, view: View) -> Decision[Interrupt]:
        return Decision(self._policy.interrupt(_own(view)))

    def act(self, state: Any, action: BaseModel, progress: Progress) -> Grounding:
        return self._seat.env.ground(state, self._seat.agent, action, progress)

    def describe(self) -> Mapping[str, Json]:
        return {"name": self.name, "privileged": self.privileged, "options": dict(self._seat.options)}


def _own(view: View) -> View:
    """The view without cooperation feedback: policies do not read, and take every record for a failure of their own."""
    own = tuple(failure for failure in view.feedback if failure.code != COOPERATION)
    return view if len(own) == len(view.feedback) else replace(view, feedback=own)


def _make(name: str, seat: Seat) -> ReferenceAgent:
    """Seat the environment's policy of this name. Raises ConfigError where there is none, naming those there are."""
    env = seat.env
    if not isinstance(env, HasPolicies):
        raise ConfigError(f"agent {name!r}: environment {env.name!r} ships no reference policies; use another agent")
    policies = env.policies()
    if name not in policies:
        raise ConfigError(f"agent {name!r}: environment {env.name!r} has no such policy; {nearest(name, policies)}")
    return ReferenceAgent(name, seat, policies[name](seat))


def make_random(seat: Seat) -> ReferenceAgent:
    """One uniformly random primitive each step: the floor."""
    return _make("random", seat)


def make_noop(seat: Seat) -> ReferenceAgent:
    """Waits, for ever: the floor of doing nothing."""
    return _make("noop", seat)


def make_greedy(seat: Seat) -> ReferenceAgent:
    """Acts on what is nearest, alone and in silence."""
    return _make("greedy", seat)


def make_scripted(seat: Seat) -> ReferenceAgent:
    """A member of a team that cooperates by the topology's messages alone."""
    return _make("scripted", seat)


def make_silent(seat: Seat) -> ReferenceAgent:
    """A member of a team that follows the protocol without a word."""
    return _make("silent", seat)


def make_noisy(seat: Seat) -> ReferenceAgent:
    """A member of a team that talks, with errors in what it sees and tells."""
    return _make("noisy", seat)


def make_half_map(seat: Seat) -> ReferenceAgent:
    """Goes by its own half of what there is to know, and agrees to everything."""
    return _make("half-map", seat)


def make_random_walk(seat: Seat) -> ReferenceAgent:
    """Takes any step that it does not know to be impossible, and agrees to everything."""
    return _make("random-walk", seat)


def make_oracle(seat: Seat) -> ReferenceAgent:
    """A seat of the central planner with the full state: the ceiling."""
    return _make("oracle", seat)


def make_team_oracle(seat: Seat) -> ReferenceAgent:
    """A seat of the same planner with only what the team has observed and been told."""
    return _make("team-oracle", seat)
