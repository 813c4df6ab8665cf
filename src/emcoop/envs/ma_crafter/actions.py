"""The symbolic actions of MA-Crafter (paper, table 3) and wait_for, the plan schema, and every reason of failure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from emcoop.core.types import Category, Failure, Json, Phase
from emcoop.envs.symbolic import Reasons, Symbolic, failed

Direction = Literal["left", "right", "up", "down"]
Collectable = Literal[
    "wood", "stone", "coal", "iron", "diamond", "drink", "sapling", "cow", "plant", "zombie", "skeleton"
]
Craftable = Literal["wood_pickaxe", "stone_pickaxe", "iron_pickaxe", "wood_sword", "stone_sword", "iron_sword"]
Placeable = Literal["stone", "table", "furnace", "plant"]
Shareable = Literal["sapling", "wood", "stone", "coal", "iron", "diamond"] | Craftable
Target = Literal[
    "tree",
    "stone",
    "coal",
    "iron",
    "diamond",
    "water",
    "table",
    "furnace",
    "plant",
    "cow",
    "zombie",
    "skeleton",
    "agent",
    "cell",
]

MAX_STEPS = 10
MAX_TIMEOUT = 100
MAX_ACTIONS = 8
NAVIGATE_TIMEOUT = 64
"""The paper's default (table 3)."""


class Noop(Symbolic):
    """Do nothing for num_steps steps."""

    action_type: Literal["noop"] = "noop"
    num_steps: int = Field(default=1, ge=1, le=MAX_STEPS)


class Move(Symbolic):
    """Move num_steps cells in a direction; ends facing it."""

    action_type: Literal["move"] = "move"
    direction: Direction
    num_steps: int = Field(default=1, ge=1, le=MAX_STEPS)


class Collect(Symbolic):
    """Take one unit of a resource in reach, or drink, eat or fight what the agent faces.

    Tries for `timeout` steps: with enough agents who try in the same step it succeeds.
    """

    action_type: Literal["collect"] = "collect"
    target: Collectable
    timeout: int = Field(default=1, ge=1, le=MAX_TIMEOUT)


class Craft(Symbolic):
    """Craft an item at its station; tries for `timeout` steps."""

    action_type: Literal["craft"] = "craft"
    item: Craftable
    timeout: int = Field(default=1, ge=1, le=MAX_TIMEOUT)


class Sleep(Symbolic):
    """Sleep until the energy is full or something wakes the agent."""

    action_type: Literal["sleep"] = "sleep"


class Place(Symbolic):
    """Place an item onto the cell that the agent faces."""

    action_type: Literal["place"] = "place"
    item: Placeable


class Share(Symbolic):
    """Give items to a teammate nearby."""

    action_type: Literal["share"] = "share"
    recipient_agent_id: str
    resource_type: Shareable
    quantity: int = Field(default=1, ge=1, le=999)


class Navigate(Symbolic):
    """Walk until the agent faces a target that it has seen (object_type agent: a teammate; cell: to row and col)."""

    action_type: Literal["navigate"] = "navigate"
    object_type: Target
    item_id: int = Field(default=0, ge=0)
    row: int | None = None
    col: int | None = None
    timeout: int = Field(default=NAVIGATE_TIMEOUT, ge=1, le=MAX_TIMEOUT)


class WaitFor(Symbolic):
    """Wait until a teammate has sent a message, or is seen to stand on (row, col); fails after timeout steps."""

    action_type: Literal["wait_for"] = "wait_for"
    agent_id: str
    event: Literal["message", "position"] = "message"
    row: int | None = None
    col: int | None = None
    timeout: int = Field(default=10, ge=1, le=MAX_TIMEOUT)


Action = Annotated[
    Noop | Move | Collect | Craft | Sleep | Place | Share | Navigate | WaitFor, Field(discriminator="action_type")
]

_PURPOSES = "make_(wood|stone|iron)_(pickaxe|sword)|place_(stone|table|furnace|plant)"
_KINDS = "tree|stone|coal|iron|diamond|water|plant|cow|zombie|skeleton|table|furnace"


class CrafterPlan(Symbolic):
    """A plan: why, which task (a target, or what is made or placed), and the actions in order."""

    reasoning: str = Field(default="", max_length=300)
    task: str = Field(pattern=rf"^(none|({_KINDS})_[0-9]{{1,5}}|{_PURPOSES})$")
    actions: list[Action] = Field(min_length=1, max_length=MAX_ACTIONS)


_PRE, _PLAN, _RUN = Phase.PRE_CHECK, Phase.PLAN_CHECK, Phase.EXECUTION

FAILURES: Reasons = {
    "unknown_task": (_PRE, Category.WORLD_UNDERSTANDING),
    "unknown_target": (_PRE, Category.WORLD_UNDERSTANDING),
    "unknown_agent": (_PRE, Category.WORLD_UNDERSTANDING),
    "bad_arguments": (_PRE, Category.FORMAT),
    "share_with_oneself": (_PRE, Category.FORMAT),
    "dead": (_PLAN, Category.CAPABILITY),
    "target_gone": (_PLAN, Category.WORLD_UNDERSTANDING),
    "teammate_not_seen": (_PLAN, Category.WORLD_UNDERSTANDING),
    "too_few_in_team": (_PLAN, Category.CAPABILITY),
    "missing_tool": (_RUN, Category.CAPABILITY),
    "missing_items": (_RUN, Category.CAPABILITY),
    "bag_full": (_RUN, Category.CAPABILITY),
    "recipient_bag_full": (_RUN, Category.COORDINATION),
    "recipient_too_far": (_RUN, Category.COORDINATION),
    "recipient_dead": (_RUN, Category.COORDINATION),
    "not_enough_agents": (_RUN, Category.COORDINATION),
    "nothing_in_reach": (_RUN, Category.WORLD_UNDERSTANDING),
    "not_ripe": (_RUN, Category.WORLD_UNDERSTANDING),
    "no_luck": (_RUN, Category.WORLD_UNDERSTANDING),
    "no_station": (_RUN, Category.WORLD_UNDERSTANDING),
    "no_leader": (_RUN, Category.COORDINATION),
    "cannot_place_here": (_RUN, Category.WORLD_UNDERSTANDING),
    "already_rested": (_RUN, Category.WORLD_UNDERSTANDING),
    "hurt_while_asleep": (_RUN, Category.WORLD_UNDERSTANDING),
    "asleep": (_RUN, Category.CAPABILITY),
    "blocked": (_RUN, Category.NAVIGATION),
    "occupied": (_RUN, Category.CONTENTION),
    "no_path": (_RUN, Category.NAVIGATION),
    "navigation_timeout": (_RUN, Category.TIMEOUT),
    "wait_timeout": (_RUN, Category.TIMEOUT),
    "out_of_time": (_RUN, Category.TIMEOUT),
}
"""Every reason why a plan or an action fails in MA-Crafter."""


def failure(code: str, message: str, *, phase: Phase | None = None, **detail: Json) -> Failure:
    """The failure of this code; `phase` overrides the phase in which it is usually found."""
    return failed(FAILURES, code, message, phase, detail)
