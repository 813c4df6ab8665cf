"""Whole episodes in memory, by the rules of the world and without a loop around it: references in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emcoop.envs.exchange.generator import Options, Spec, read_level, resolve
from emcoop.envs.exchange.observe import holders
from emcoop.envs.exchange.rules import begin, take_turn
from emcoop.envs.exchange.scripted import KINDS, Mind, Sight
from emcoop.envs.exchange.state import ABSENT, ExchangeState, initial
from emcoop.envs.exchange.work import Work

REFERENCES: dict[str, tuple[str, dict[str, bool]]] = {
    "no sharing": ("loner", {}),
    "one-sided: repliers who never ask": ("replier", {}),
    "one-sided: requesters who never answer": ("selfish", {}),
    "request and answer": ("scripted", {}),
    "one-sided: perfect replier, the engine asks": ("replier", {"auto_request": True}),
    "one-sided: perfect requester, the engine fills": ("selfish", {"auto_fulfil": True}),
    "instant fill": ("scripted", {"auto_fulfil": True}),
    "flood": ("flood", {}),
}
"""Teams that are played beside every condition, by name: who plays, under which assists."""


@dataclass(frozen=True)
class Outcome:
    """How an episode ended, and its state."""

    tasks: int
    revenue: float
    state: ExchangeState


def sight_of(work: Work, agent: int) -> Sight:
    """What this agent knows at its turn; the same as its observation tells."""
    row, listed = work.held[agent], work.listed
    return Sight(
        agent=agent,
        team=work.spec.agents,
        round=work.turn // work.spec.agents,
        tasks=[(number, work.pieces_of(agent, number)) for number, _ in work.desks[agent].tasks],
        inventory={piece: value for piece, value in enumerate(row) if value != ABSENT},
        holders=lambda piece: holders(listed, piece),
        asked=[(r.asker, r.piece) for r in work.desks[agent].asked],
        waits=lambda holder, piece: any(r.asker == agent and r.piece == piece for r in work.desks[holder].asked),
    )


def simulate(spec: Spec, seed: int, team: Sequence[str]) -> Outcome:
    """Play one episode with these kinds of players, one name for everybody or one each. Raises KeyError, ValueError."""
    names = list(team) * spec.agents if len(team) == 1 else list(team)
    if len(names) != spec.agents:
        raise ValueError(f"{len(names)} players for {spec.agents} agents; name one kind, or one for each")
    minds = [Mind(KINDS[name]) for name in names]
    work = Work(spec, initial(spec, seed))
    begin(work)
    while work.turn < spec.horizon:
        mover = work.mover
        take_turn(work, minds[mover].decide(sight_of(work, mover)))
        work.events.clear()
    state = work.freeze()
    return Outcome(sum(d.done for d in state.desks), sum(d.revenue for d in state.desks), state)


def reference(name: str, spec: Spec, seed: int) -> Outcome:
    """Play the reference of this name in a world like this one, without what was done to it. Raises KeyError."""
    kind, assists = REFERENCES[name]
    clean = {"auto_request": False, "auto_fulfil": False, "auto_submit": False, "incentive": 0.0, "most_sends": None}
    return simulate(spec.model_copy(update={**clean, **assists}), seed, [kind])


def default_spec(agents: int = 10, level: str = "easy", **options: object) -> Spec:
    """The parameters of a world as `make` would resolve them."""
    return resolve(agents, read_level(level), Options.model_validate(options))
