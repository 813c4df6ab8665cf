"""What an exchange has come to: rewards, the score, and its measures as far as the state knows them.

The same measures follow from a log alone, see `emcoop.analysis.exchange`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from emcoop.core.types import AgentId, Json, Score
from emcoop.envs.exchange.generator import Spec
from emcoop.envs.exchange.state import ABSENT, TALLY, ExchangeState


def money(state: ExchangeState, spec: Spec) -> list[float]:
    """The revenue of each agent [N]: what its tasks paid and, unless they are mere points, its bonuses."""
    symbolic = spec.incentive_arm == "symbolic"
    return [desk.revenue + (0.0 if symbolic else desk.bonus) for desk in state.desks]


def rewards(before: ExchangeState, after: ExchangeState, spec: Spec) -> dict[AgentId, float]:
    """What each agent has earned in this step, in units of one task's pay."""
    pairs = zip(money(before, spec), money(after, spec), strict=True)
    return {f"agent_{i}": (now - then) / spec.pay for i, (then, now) in enumerate(pairs)}


def gini(values: Sequence[float]) -> float:
    """The Gini coefficient of non-negative values: 0 for equal ones, (n - 1) / n for one that has all; 0 for zeros."""
    ordered = sorted(values)
    total = sum(ordered)
    if total <= 0:
        return 0.0
    weighted = sum((2 * i - len(ordered) + 1) * value for i, value in enumerate(ordered))
    return weighted / (len(ordered) * total)


def score(state: ExchangeState, spec: Spec) -> Score:
    """`progress` is what the tasks paid, as a share of `Spec.most_tasks` paid in full; success is all of that.

    Hardly a team can succeed: in the first turns nobody holds what it needs. References are what to compare with.
    """
    paid = sum(desk.revenue for desk in state.desks)
    progress = min(1.0, paid / (spec.pay * spec.most_tasks))
    return Score(progress >= 1.0, progress, detail(state, spec))


def detail(state: ExchangeState, spec: Spec) -> Mapping[str, Json]:
    """The measures by name; None where one is not defined."""
    tally = dict(zip(TALLY, state.tally, strict=True))
    done = sum(desk.done for desk in state.desks)
    open_requests = [request for desk in state.desks for request in desk.asked]
    ignored = tally["ignored"] + sum(request.chances > 0 for request in open_requests)
    could_not = sum(request.chances == 0 for request in open_requests)
    answered = tally["answered"] + tally["late"]
    could = answered + ignored + tally["falsified"]
    return {
        **tally,
        "tasks": done,
        "most_tasks": spec.most_tasks,
        "revenue": sum(money(state, spec)),
        "gini": gini([desk.revenue for desk in state.desks]),
        "ignored": ignored,
        "could_not_comply": could_not,
        "messages_per_task": ratio(tally["messages"], done),
        "response_rate": ratio(answered, could),
        "truthful_sends_per_request": ratio(tally["sends"] - tally["false_sends"], tally["requests"]),
        "pipeline_efficiency": ratio(tally["submitted"], tally["feasible"]),
        "falsification_rate": ratio(tally["false_sends"], tally["sends"]),
    }


def ratio(part: float, whole: float) -> float | None:
    """part / whole, None for an empty whole."""
    return part / whole if whole else None


@lru_cache(maxsize=16_384)
def tools(row: bytes) -> Mapping[str, int]:
    """The pieces of a row by name."""
    return {f"piece_{piece}": 1 for piece, value in enumerate(row) if value != ABSENT}
