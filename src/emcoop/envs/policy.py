"""The contract of a reference policy: a plain synchronous player that an environment ships (floors and ceilings).

An environment that has reference policies offers them as ``policies()``, a mapping from a name (``random``,
``noop``, ``greedy``, ``scripted``, ``oracle``, ``team-oracle``) to a factory. The agents' layer wraps them; here
they are described only by what they use, so that environments stay below agents.

A policy lives for one episode in one seat. It may keep what it has seen, but it is a deterministic function of
the sequence of its views.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel

from emcoop.core.config import StrictModel
from emcoop.core.types import AgentId, Choice, Failure, Interrupt, Json, Message, Outgoing, Plan
from emcoop.envs.base import AnyEnvironment


class NamedRole(Protocol):
    """A topology's role, as far as policies care."""

    @property
    def name(self) -> str: ...


class OwnEvent(Protocol):
    """One entry of an agent's memory of its own events."""

    @property
    def step(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...


class PolicyView(Protocol):
    """Everything a policy may use to decide; the fields mean what they mean in an agent's view.

    `state` is the full world state, and None for policies that are not privileged.
    """

    @property
    def agent(self) -> AgentId: ...
    @property
    def team(self) -> tuple[AgentId, ...]: ...
    @property
    def role(self) -> NamedRole: ...
    @property
    def step(self) -> int: ...
    @property
    def observation(self) -> BaseModel: ...
    @property
    def unread(self) -> tuple[Message, ...]: ...
    @property
    def conversation(self) -> tuple[Message, ...]: ...
    @property
    def memory(self) -> Sequence[OwnEvent]: ...
    @property
    def feedback(self) -> tuple[Failure, ...]: ...
    @property
    def plan(self) -> Plan | None: ...
    @property
    def plan_left(self) -> int: ...
    @property
    def recipients(self) -> tuple[AgentId, ...]: ...
    @property
    def sends_left(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def state(self) -> Any: ...


class Policy(Protocol):
    """Three faculties; the fourth, acting, is the environment's grounding."""

    privileged: bool
    """Whether the policy needs `PolicyView.state`."""

    def plan(self, view: PolicyView) -> Plan:
        """The next plan."""
        ...

    def speak(self, view: PolicyView) -> Outgoing | None:
        """One message to some of `view.recipients`, or None for silence."""
        ...

    def interrupt(self, view: PolicyView) -> Interrupt:
        """What to do about `view.unread` while `view.plan` is active."""
        ...


class Quiet:
    """The usual faculties of one that only plans: it says nothing and goes on with its plan."""

    privileged = False

    def speak(self, view: PolicyView) -> Outgoing | None:
        """Silence."""
        return None

    def interrupt(self, view: PolicyView) -> Interrupt:
        """Resume."""
        return Interrupt(Choice.RESUME)


class NoOptions(StrictModel):
    """These policies have no options."""


class PolicySeat(Protocol):
    """Where a policy sits: what its factory needs."""

    @property
    def agent(self) -> AgentId: ...
    @property
    def env(self) -> AnyEnvironment: ...
    @property
    def seed(self) -> int: ...
    @property
    def options(self) -> Mapping[str, Json]: ...


PolicyFactory: TypeAlias = Callable[[PolicySeat], Policy]


@runtime_checkable
class HasPolicies(Protocol):
    """An environment that ships reference policies."""

    def policies(self) -> Mapping[str, PolicyFactory]:
        """The factories by name."""
        ...
