"""The reference policies of the exchange: floors, a team that shares, one-sided and unwilling players, and a ceiling.

`oracle` and `team-oracle` are the same here: give every piece to everybody at once. It needs nothing that an agent does
not know, and is called a ceiling, not an optimum.
"""

from __future__ import annotations

from collections.abc import Mapping

from emcoop.core.config import StrictModel, load, nearest
from emcoop.core.errors import ConfigError
from emcoop.core.seeds import Stream
from emcoop.core.types import NO_TASK, Plan, agent_index
from emcoop.envs.exchange.actions import ExchangePlan, Pass, pack
from emcoop.envs.exchange.env import Exchange
from emcoop.envs.exchange.observe import ExchangeObservation
from emcoop.envs.exchange.scripted import KINDS, Action, Mind, Sight
from emcoop.envs.exchange.work import task_name
from emcoop.envs.policy import NoOptions, Policy, PolicyFactory, PolicySeat, PolicyView, Quiet


class ScriptedOptions(StrictModel):
    """`kind` is one of `scripted.KINDS`: which habits the player has."""

    kind: str = "scripted"


def seen(view: PolicyView) -> ExchangeObservation:
    """The view's observation. Raises TypeError for that of another world."""
    if not isinstance(view.observation, ExchangeObservation):
        raise TypeError(f"a policy of the exchange cannot read a {type(view.observation).__name__}")
    return view.observation


def sight(observation: ExchangeObservation) -> Sight:
    """What the observation tells a scripted player."""
    waiting = {(request.agent, request.piece) for request in observation.asking}
    return Sight(
        agent=agent_index(observation.agent),
        team=observation.team,
        round=observation.round,
        tasks=[(task.number, task.pieces) for task in observation.tasks],
        inventory=observation.inventory,
        holders=lambda piece: _holders(observation, piece),
        asked=[(agent_index(request.agent), request.piece) for request in observation.requests],
        waits=lambda holder, piece: (f"agent_{holder}", piece) in waiting,
    )


def _holders(observation: ExchangeObservation, piece: int) -> tuple[int, ...]:
    found = observation.holders.get(piece)
    if found is not None:
        return found
    return tuple(i for i, held in enumerate(observation.directory) if _listed(held, piece))


def _listed(held: str, piece: int) -> bool:
    """Whether a row of the directory, such as ``0-9, 17``, names the piece."""
    bounds = (run.partition("-") for run in held.split(", ") if run)
    return any(int(low) <= piece <= int(high or low) for low, _, high in bounds)


class MindPolicy(Quiet):
    """A scripted player in a seat. Its whole turn is its plan; it says nothing beside, and nobody interrupts it."""

    def __init__(self, env: Exchange, mind: Mind) -> None:
        self._env = env
        self._mind = mind

    def plan(self, view: PolicyView) -> Plan:
        """One turn, or a pass where there is nothing to do."""
        observation = seen(view)
        return turn(self._env, observation, self._mind.decide(sight(observation)))


def turn(env: Exchange, observation: ExchangeObservation, actions: list[Action]) -> Plan:
    """These actions as a plan for the first open task."""
    if not actions:
        return Plan(NO_TASK, (Pass(),))
    task = task_name(agent_index(observation.agent), observation.tasks[0].number)
    answer = ExchangePlan.model_validate({"task": task, "actions": actions})
    return pack(task, answer.actions, "", env.spec)


class RandomPolicy(MindPolicy):
    """One random action a turn: a send, a request, a submission, or nothing; about half of them are impossible."""

    def plan(self, view: PolicyView) -> Plan:
        """Each kind with probability 1/4, its fields uniform; a send states what the agent holds."""
        observation = seen(view)
        stream = Stream.named(view.seed, "exchange", "random")
        kind, piece = stream.below(4), stream.below(observation.pieces)
        to = f"agent_{stream.below(observation.team)}"
        if kind == 0 or (kind < 3 and to == observation.agent):
            return Plan(NO_TASK, (Pass(),))
        if kind == 3:
            return turn(self._env, observation, [{"action_type": "submit", "number": observation.tasks[0].number}])
        if kind == 1 and piece not in observation.inventory:
            return turn(self._env, observation, [{"action_type": "request", "to": to, "piece": piece}])
        held = stream.choice(sorted(observation.inventory))
        value = observation.inventory[held]
        return turn(self._env, observation, [{"action_type": "send", "to": to, "piece": held, "value": value}])


def _factory(kind: str, policy: type[MindPolicy] = MindPolicy) -> PolicyFactory:
    def seated(seat: PolicySeat) -> Policy:
        load(NoOptions, dict(seat.options), f"policy of {seat.agent}")
        return policy(_exchange(seat), Mind(KINDS[kind]))

    return seated


def _scripted(seat: PolicySeat) -> Policy:
    options = load(ScriptedOptions, dict(seat.options), f"agent scripted of {seat.agent}")
    if options.kind not in KINDS:
        raise ConfigError(f"agent scripted of {seat.agent}: no kind {options.kind!r}; {nearest(options.kind, KINDS)}")
    return MindPolicy(_exchange(seat), Mind(KINDS[options.kind]))


def _exchange(seat: PolicySeat) -> Exchange:
    if not isinstance(seat.env, Exchange):
        raise TypeError(f"a policy of the exchange cannot play {seat.env.name}")
    return seat.env


POLICIES: Mapping[str, PolicyFactory] = {
    "random": _factory("noop", RandomPolicy),
    "noop": _factory("loner"),
    "scripted": _scripted,
    "oracle": _factory("flood"),
    "team-oracle": _factory("flood"),
}
"""Each takes a seat. ``scripted`` takes the option `kind`, the others none (ConfigError)."""
