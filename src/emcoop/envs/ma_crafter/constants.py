"""The vocabulary of MA-Crafter: materials, items, moving things, achievements, primitives and results.

Numbers and orders follow Crafter 1.8.3 (Hafner 2021) where Crafter has the thing, so that its worlds can be loaded and
its first 17 actions mean the same here. Kernels use the integers, everything else the names.
"""

from __future__ import annotations

from dataclasses import dataclass

# --- the ground -------------------------------------------------------------------------------------------------
MATERIALS = (
    "unknown",
    "water",
    "grass",
    "stone",
    "path",
    "sand",
    "tree",
    "lava",
    "coal",
    "iron",
    "diamond",
    "table",
    "furnace",
)
"""Every cell holds one of these; ``unknown`` is no ground but what an agent has not seen, or what lies outside."""
UNKNOWN, WATER, GRASS, STONE, PATH, SAND, TREE, LAVA, COAL, IRON, DIAMOND, TABLE, FURNACE = range(13)
WALKABLE = (GRASS, PATH, SAND)
"""Where mobs walk. Agents also walk into lava, which kills them."""
NAMED = (WATER, STONE, TREE, LAVA, COAL, IRON, DIAMOND, TABLE, FURNACE)
"""The materials whose cells get an id when they are first sighted; the rest is filler."""

# --- what an agent has ------------------------------------------------------------------------------------------
ITEMS = (
    "health",
    "food",
    "drink",
    "energy",
    "sapling",
    "wood",
    "stone",
    "coal",
    "iron",
    "diamond",
    "wood_pickaxe",
    "stone_pickaxe",
    "iron_pickaxe",
    "wood_sword",
    "stone_sword",
    "iron_sword",
)
"""Columns of `inventory`. The first `VITALS` are no things: they weigh nothing and cannot be shared."""
HEALTH, FOOD, DRINK, ENERGY, SAPLING = range(5)
WOOD, STONES, COALS, IRONS, DIAMONDS = range(5, 10)
WOOD_PICKAXE, STONE_PICKAXE, IRON_PICKAXE, WOOD_SWORD, STONE_SWORD, IRON_SWORD = range(10, 16)
VITALS = 4
MOST = 9
"""The most of a vital, and of any item unless the level says otherwise."""

# --- what an agent can achieve ----------------------------------------------------------------------------------
ACHIEVEMENTS = (
    "collect_coal",
    "collect_diamond",
    "collect_drink",
    "collect_iron",
    "collect_sapling",
    "collect_stone",
    "collect_wood",
    "defeat_skeleton",
    "defeat_zombie",
    "eat_cow",
    "eat_plant",
    "make_iron_pickaxe",
    "make_iron_sword",
    "make_stone_pickaxe",
    "make_stone_sword",
    "make_wood_pickaxe",
    "make_wood_sword",
    "place_furnace",
    "place_plant",
    "place_stone",
    "place_table",
    "wake_up",
)
"""Columns of `achievements`, which count how often."""

# --- what moves or grows ----------------------------------------------------------------------------------------
MOBS = ("none", "cow", "zombie", "skeleton", "arrow", "plant")
NO_MOB, COW, ZOMBIE, SKELETON, ARROW, PLANT = range(6)
MOB_HEALTHS = (0, 3, 5, 3, 0, 1)
"""What each kind begins with; Crafter's arrows have no health and fly all the same."""
RIPE = 300
"""A plant whose TIMER is above this can be eaten."""

# --- directions: index 0 is none, 1 to 4 are also the move primitives ---------------------------------------------
DIRECTIONS = ("none", "left", "right", "up", "down")
DROW = (0, 0, 0, -1, 1)
DCOL = (0, -1, 1, 0, 0)

# --- resources: what `collect` names ------------------------------------------------------------------------------
RESOURCES = ("tree", "stone", "coal", "iron", "diamond", "water", "grass", "cow", "plant")
"""What can be collected, by the thing that gives it. Collecting a cow is one blow at it; a plant must be ripe."""
R_TREE, R_STONE, R_COAL, R_IRON, R_DIAMOND, R_WATER, R_GRASS, R_COW, R_PLANT = range(9)
RESOURCE_MATERIAL = (TREE, STONE, COAL, IRON, DIAMOND, WATER, GRASS, UNKNOWN, UNKNOWN)
"""The material of each resource; cows and plants are mobs and have none."""
RESOURCE_MOB = (NO_MOB, NO_MOB, NO_MOB, NO_MOB, NO_MOB, NO_MOB, NO_MOB, COW, PLANT)
RESOURCE_ITEM = (WOOD, STONES, COALS, IRONS, DIAMONDS, DRINK, SAPLING, FOOD, FOOD)
"""What a participant gets; vitals are refilled."""
RESOURCE_ACHIEVEMENT = (
    "collect_wood",
    "collect_stone",
    "collect_coal",
    "collect_iron",
    "collect_diamond",
    "collect_drink",
    "collect_sapling",
    "eat_cow",
    "eat_plant",
)

PLACED = ("stone", "table", "furnace", "plant")
CRAFTED = ("wood_pickaxe", "stone_pickaxe", "iron_pickaxe", "wood_sword", "stone_sword", "iron_sword")

# --- primitives -----------------------------------------------------------------------------------------------------
# 0 to 16 are Crafter's actions, in its order; then one collect per resource; then one share per recipient, item and
# quantity, so that an action is always one integer.
NOOP, LEFT, RIGHT, UP, DOWN, DO, SLEEP = range(7)
PLACE = 7
MAKE = PLACE + len(PLACED)
COLLECT = MAKE + len(CRAFTED)
SHARE = COLLECT + len(RESOURCES)
SHAREABLE = len(ITEMS) - VITALS
QUANTITIES = MOST


@dataclass(frozen=True, slots=True)
class Share:
    """What a share primitive means: `quantity` (1 to 9) of the item of this column of `inventory`, to this agent."""

    recipient: int
    item: int
    quantity: int


def primitive_count(agents: int) -> int:
    """How many primitives a team of this size has: 0 to this number, exclusive."""
    return SHARE + agents * SHAREABLE * QUANTITIES


def share_primitive(recipient: int, item: int, quantity: int) -> int:
    """The primitive that hands `quantity` of an item (a column of `inventory`) to an agent. Raises ValueError for
    vitals or a quantity outside 1 to 9."""
    if not VITALS <= item < len(ITEMS) or not 1 <= quantity <= QUANTITIES or recipient < 0:
        raise ValueError(f"no share of {quantity} of item {item} to agent {recipient}")
    return SHARE + (recipient * SHAREABLE + item - VITALS) * QUANTITIES + quantity - 1


def decode_share(primitive: int) -> Share:
    """The inverse of `share_primitive`. Raises ValueError for a primitive that is no share."""
    if primitive < SHARE:
        raise ValueError(f"primitive {primitive} is no share")
    rest, quantity = divmod(primitive - SHARE, QUANTITIES)
    recipient, item = divmod(rest, SHAREABLE)
    return Share(recipient, item + VITALS, quantity + 1)


def primitive_names(agents: int) -> tuple[str, ...]:
    """The name of every primitive of a team of this size; the table that decodes them."""
    names = ["noop", "move_left", "move_right", "move_up", "move_down", "do", "sleep"]
    names += [f"place_{thing}" for thing in PLACED]
    names += [f"make_{item}" for item in CRAFTED]
    names += [f"collect_{resource}" for resource in RESOURCES]
    for primitive in range(SHARE, primitive_count(agents)):
        share = decode_share(primitive)
        names.append(f"share_{ITEMS[share.item]}_{share.quantity}_agent_{share.recipient}")
    return tuple(names)


# --- what became of a primitive ------------------------------------------------------------------------------------
RESULTS = (
    "waited",  # noop
    "moved",
    "collected",  # have = participants with the tool, need = required agents
    "drank",
    "struck",  # a mob was hit; have = its health left
    "defeated",  # a zombie or a skeleton
    "ate",  # a cow or a plant
    "asleep",  # fell asleep or sleeps on; any primitive but sleep of a sleeping agent has no effect
    "placed",
    "crafted",  # have = participants, need = required agents
    "shared",  # have = quantity
    # From here on the primitive had no effect.
    "edge",  # the world ends there
    "blocked",  # the material in front cannot be walked on
    "occupied",  # an agent or a mob is in front
    "nothing_here",  # do: nothing in front that can be used
    "nothing_in_range",  # collect: no such resource within the distance
    "missing_tool",  # need = the tool's column of inventory
    "too_few_agents",  # have = those taking part with the tool, need = required agents
    "bag_full",  # the item's limit or the bag's capacity
    "unlucky",  # searched grass and found no sapling
    "unripe",
    "not_tired",  # energy is full
    "missing_items",  # have and need of the first missing item, which is the target
    "wrong_place",  # nothing can be placed on what is in front
    "no_station",  # no table or furnace near; target = the missing material
    "nobody_leads",  # no crafting agent faces the station
    "leader_lacks",  # the leader, who pays, has too little; have and need, item = target
    "to_self",
    "no_recipient",  # dead
    "too_far",  # have = distance, need = the largest allowed
    "dead",
    "world_full",  # the world holds no more plants
    "still_asleep",  # a sleeping agent was told to do something else
)
"""`result[i, 0]` is an index into these."""
(
    WAITED,
    MOVED,
    COLLECTED,
    DRANK,
    STRUCK,
    DEFEATED,
    ATE,
    ASLEEP,
    PLACED_IT,
    CRAFTED_IT,
    SHARED,
    EDGE,
    BLOCKED,
    OCCUPIED,
    NOTHING_HERE,
    NOTHING_IN_RANGE,
    MISSING_TOOL,
    TOO_FEW,
    BAG_FULL,
    UNLUCKY,
    UNRIPE,
    NOT_TIRED,
    MISSING_ITEMS,
    WRONG_PLACE,
    NO_STATION,
    NOBODY_LEADS,
    LEADER_LACKS,
    TO_SELF,
    NO_RECIPIENT,
    TOO_FAR,
    IS_DEAD,
    WORLD_FULL,
    STILL_ASLEEP,
) = range(len(RESULTS))
FIRST_FAILURE = EDGE
"""Results from this one on mean that the primitive had no effect."""

# --- columns of the state's arrays ---------------------------------------------------------------------------------
ROW, COL, FACING, SLEEPING, DEAD, HUNGER, THIRST, FATIGUE, RECOVER, LAST_HEALTH, DEATHS, HOME_ROW, HOME_COL = range(13)
AGENT_FIELDS = 13
"""Columns of `agents`. FACING is 1 to 4 (see DIRECTIONS). HUNGER, THIRST and RECOVER count in halves of Crafter's
numbers (above 50, 40 and 50 or below -30 something happens); FATIGUE in Crafter's own. HOME is the start cell."""

KIND, MOB_ROW, MOB_COL, MOB_HEALTH, TIMER, MOB_DIRECTION, MOB_ID, MOB_SEEN, MOB_BORN = range(9)
MOB_FIELDS = 9
"""Columns of `mobs`. TIMER is a zombie's cooldown, a skeleton's reload, a plant's age; MOB_DIRECTION an arrow's way.
MOB_ID is 0 until the team has sighted it; bit i of MOB_SEEN is set once agent i has seen it.
MOB_BORN is the step in which it appeared, in which it does not act yet."""

CODE, HAVE, NEED, TARGET = range(4)
RESULT_FIELDS = 4
"""Columns of `result`: index into RESULTS, two numbers that explain it (see there), and the cell concerned
(row * columns + column), an item or material where RESULTS says so, or -1."""

STEP, NEXT_ID, TOP = range(3)
CLOCK_FIELDS = 3
"""Columns of `clock`: steps so far, the next id to give, and the number of mob slots ever used."""

SIGHT_ROW, SIGHT_COL, SIGHT_STEP = range(3)

MOB_COUNT = len(MATERIALS)
CHUNK_FIELDS = MOB_COUNT + len(MOBS)
"""Columns of `chunks`: how many cells of each material, then, from MOB_COUNT on, how many mobs of each kind."""

# --- the world's measures ------------------------------------------------------------------------------------------
SIDE = 64
CHUNK = 12
VIEW_ROWS, VIEW_COLS = 7, 9
"""Crafter's view of 9 x 9 of which 2 rows show the inventory."""
ACTIVE_DISTANCE = 18
"""Mobs farther than this (Manhattan, from the nearest living agent) stand still, as in Crafter."""
DAY = 300
MAX_AGENTS = 30

ON_DEATH = ("end", "continue", "respawn")
END, CONTINUE, RESPAWN = range(3)
