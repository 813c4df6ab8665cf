"""What became of a primitive, in words: for the observation, and as the failure of a symbolic action."""

from __future__ import annotations

from emcoop.core.types import Failure
from emcoop.envs.ma_crafter.actions import failure
from emcoop.envs.ma_crafter.constants import (
    ATE,
    BAG_FULL,
    BLOCKED,
    COLLECTED,
    CRAFTED_IT,
    EDGE,
    FIRST_FAILURE,
    IS_DEAD,
    ITEMS,
    LEADER_LACKS,
    MATERIALS,
    MISSING_ITEMS,
    MISSING_TOOL,
    NO_RECIPIENT,
    NO_STATION,
    NOBODY_LEADS,
    NOT_TIRED,
    NOTHING_HERE,
    NOTHING_IN_RANGE,
    OCCUPIED,
    RESULTS,
    SHARED,
    STILL_ASLEEP,
    STRUCK,
    TO_SELF,
    TOO_FAR,
    TOO_FEW,
    UNLUCKY,
    UNRIPE,
    WORLD_FULL,
    WRONG_PLACE,
)
from emcoop.envs.ma_crafter.state import CrafterState

_CODES = {
    EDGE: "blocked",
    BLOCKED: "blocked",
    OCCUPIED: "occupied",
    NOTHING_HERE: "nothing_in_reach",
    NOTHING_IN_RANGE: "nothing_in_reach",
    MISSING_TOOL: "missing_tool",
    TOO_FEW: "not_enough_agents",
    BAG_FULL: "bag_full",
    UNLUCKY: "no_luck",
    UNRIPE: "not_ripe",
    NOT_TIRED: "already_rested",
    MISSING_ITEMS: "missing_items",
    WRONG_PLACE: "cannot_place_here",
    NO_STATION: "no_station",
    NOBODY_LEADS: "no_leader",
    LEADER_LACKS: "missing_items",
    TO_SELF: "share_with_oneself",
    NO_RECIPIENT: "recipient_dead",
    TOO_FAR: "recipient_too_far",
    IS_DEAD: "dead",
    WORLD_FULL: "cannot_place_here",
    STILL_ASLEEP: "asleep",
}

_TEXTS = {
    COLLECTED: "collected, {have} took part",
    STRUCK: "struck, it has {have} health left",
    ATE: "eaten",
    CRAFTED_IT: "crafted, {have} took part",
    SHARED: "shared {have}",
    EDGE: "the world ends there",
    BLOCKED: "the ground there cannot be walked on",
    OCCUPIED: "somebody is in the way",
    NOTHING_HERE: "there is nothing to use in front of you",
    NOTHING_IN_RANGE: "there is no such thing within {need} of you",
    MISSING_TOOL: "it takes a {tool}, which you do not have",
    TOO_FEW: "it takes {need} agents with the tool in the same step, {have} took part",
    BAG_FULL: "there is no room in the bag",
    UNLUCKY: "you searched the grass and found no sapling",
    UNRIPE: "the plant is not ripe yet",
    NOT_TIRED: "your energy is full",
    MISSING_ITEMS: "it takes {need} {item}, you have {have}",
    WRONG_PLACE: "it cannot be placed on what is in front of you",
    NO_STATION: "there is no {station} near",
    NOBODY_LEADS: "nobody who crafts it faces the station",
    LEADER_LACKS: "it takes {need} {item}, the leader has {have}",
    TO_SELF: "you cannot share with yourself",
    NO_RECIPIENT: "the recipient is dead",
    TOO_FAR: "the recipient is {have} away, at most {need} are allowed",
    IS_DEAD: "you are dead",
    WORLD_FULL: "nothing more can grow in this world",
    STILL_ASLEEP: "you are asleep",
}


def result_text(state: CrafterState, agent: int) -> str:
    """What became of the agent's last primitive, in one phrase."""
    code, have, need, target = (int(v) for v in state.result[agent])
    text = _TEXTS.get(code, RESULTS[code])
    item = ITEMS[target] if code in (MISSING_ITEMS, LEADER_LACKS) else ""
    tool = ITEMS[need] if code == MISSING_TOOL else ""
    station = MATERIALS[target] if code == NO_STATION else ""
    return text.format(have=have, need=need, item=item, tool=tool, station=station)


def has_failed(state: CrafterState, agent: int) -> bool:
    """Whether the agent's last primitive had no effect."""
    return int(state.result[agent, 0]) >= FIRST_FAILURE


def result_failure(state: CrafterState, agent: int, attempt: str, *, code: str | None = None) -> Failure:
    """The failure of an action whose last primitive had no effect; `attempt` says what was tried."""
    result, have, need, _ = (int(v) for v in state.result[agent])
    text = f"{attempt}: {result_text(state, agent)}"
    return failure(code or _CODES[result], text, result=RESULTS[result], have=have, need=need)
