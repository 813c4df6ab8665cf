"""The rules of MA-Crafter as text, in three wordings; the numbers are those of the level in force."""

from __future__ import annotations

from emcoop.core.config import nearest
from emcoop.core.errors import ConfigError
from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import CRAFTED, PLACED
from emcoop.envs.ma_crafter.recipes import COOPERATIVE, GIVES, RECIPES, THINGS

_ACTIONS = """\
- noop: do nothing
- move: go so many steps; a step against an obstacle only turns you
- navigate: walk to a target of your list until you face it, e.g. tree 3, or agent 1 for a teammate; or walk to a \
cell: object_type cell with row and col
- collect: take {targets} within {reach}; the same for drink (water), cow (several blows), plant (ripe) and sapling \
(from grass, rarely found); or fight the zombie or skeleton beside you; with a timeout you keep trying for so many \
steps, until enough agents take part
- craft: {tools}
- place: stone, table, furnace or plant (a sapling) onto the cell you face
- share: give items to a teammate within {share} of you
- sleep: until your energy is full or something wakes you
- wait_for: until a teammate's message arrives, or it stands at (row, col)"""

_FULL = """\
You are one of a team of {agents} in MA-Crafter, an open world of {size} rows and {size} columns, counted from 0 at \
the top left. {sight}

GOAL: {goal}, within {horizon} steps. {death}

COOPERATIVE COLLECTION: a resource is taken when enough agents within {reach} of it, each with the required tool, \
collect it in the same step; each of them gets one unit and the resource is gone. An agent takes part in the \
nearest one of the resource it names, the one it faces first.
{resources}

PLACING AND MAKING
{recipes}
{crafting}

BAG: at most {cap} of each item{capacity}.

BODY: health, food, drink and energy go from 0 to 9. Food comes from cows and ripe plants, drink from water, energy \
from sleep. At 0 of one of them health falls; at health 0 you die. Lava kills who steps into it. {mobs}

ACTIONS of a plan, carried out one primitive step at a time:
{actions}

TASK: the target your plan works on, e.g. tree_3 or cow_12, or what it makes or places, e.g. make_wood_pickaxe or \
place_table, or none."""

_SHORT = """\
MA-Crafter, {size} x {size} cells, (row, col) from the top left, from 0; {sight}. Team of {agents}. \
Goal: {goal}, in {horizon} steps. {death}
Taking a resource needs enough agents within {reach}, each with the tool, who collect it in the same step; each gets \
one:
{resources}
Recipes:
{recipes}
{crafting} Bag: at most {cap} of each item{capacity}. Cows and ripe plants feed, water is drunk, sleep restores \
energy; health 0 is death, so is lava. {mobs}
A plan is a task (a target such as tree_3, make_wood_pickaxe, place_table, or none) and actions:
{actions}"""

_STORY = """\
You and your companions ({agents} in all) wake in a wild land, {size} cells from north to south and as many from west \
to east. Rows are counted from the northern edge, columns from the western one, from 0. {sight} Your purpose: \
{goal}, before {horizon} steps have passed. {death}

Hard things are taken together. Whoever stands within {reach} of a resource and holds the right tool can lend a hand; \
when enough hands take it in the same step, it is gone and each of them has one unit:
{resources}
What you can build, and its price:
{recipes}
{crafting}
You can carry at most {cap} of each thing{capacity}. Eat cows and ripe plants, drink water, sleep when you are tired: \
who has nothing left of one of these loses health, and who has no health left dies. Keep out of the lava. {mobs}

Say which task you are at (a target such as tree_3, or make_wood_pickaxe, place_table, or none) and list your actions:
{actions}"""

_TEXTS = {"full": _FULL, "short": _SHORT, "story": _STORY}

VARIANTS = tuple(_TEXTS)

_SIGHT = {
    "full": "You see the 7 rows and 9 columns around you; everything else you know only from before or from messages.",
    "short": "you see 7 x 9 around you",
    "story": "Each of you sees only three rows up and down and four columns to either side.",
}
_WHOLE_MAP = {
    "full": "You know the whole map and where your teammates are; animals and enemies you see in the 7 rows and 9 "
    "columns around you.",
    "short": "you know the whole map, and see animals and enemies 7 x 9 around you",
    "story": "You carry a map of all of it that shows your companions, too; beasts and foes you see three rows up and "
    "down and four columns to either side.",
}

_DEATHS = {
    "end": "The first death of an agent ends the episode.",
    "continue": "Who dies is gone; the others go on.",
    "respawn": "Who dies starts again where the team started, with an empty bag.",
}


def rules(variant: str, level: Level, agents: int) -> str:
    """The rules of this level in this wording. Raises ConfigError for an unknown one."""
    if variant not in _TEXTS:
        raise ConfigError(f"ma-crafter has no prompt variant {variant!r}; {nearest(variant, _TEXTS)}")
    reach, share = _cells(level.cooperative_collection.distance_threshold), _cells(level.share_distance)
    targets = ", ".join(GIVES[name] for name in COOPERATIVE if level.required(name) <= agents)
    makeable = ", ".join(tool for tool in CRAFTED if level.recipe(tool).required_agents <= agents)
    return _TEXTS[variant].format(
        agents=agents,
        size=level.size,
        horizon=level.horizon,
        goal=_goal(level),
        sight=(_WHOLE_MAP if level.whole_map else _SIGHT)[variant],
        death=_DEATHS[level.on_death],
        reach=reach,
        resources="\n".join(_resource(level, name, agents) for name in COOPERATIVE),
        recipes="\n".join(_recipe(level, name, agents) for name in RECIPES),
        crafting=_crafting(level),
        cap=level.bag.cap,
        capacity=_capacity(level),
        mobs=_MOBS[level.mobs],
        actions=_ACTIONS.format(targets=targets, reach=reach, tools=makeable, share=share),
    )


_MOBS = {
    "all": "Zombies roam the grass, most of all at night, and skeletons shoot in the tunnels; who sleeps in the open "
    "is hurt.",
    "cows": "There are no enemies.",
    "none": "There are no animals and no enemies.",
}


def _cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"


def _goal(level: Level) -> str:
    if isinstance(level.goal, str):
        return "any agent of the team collects a diamond"
    return "the team achieves each of these once: " + ", ".join(level.goal)


def _resource(level: Level, name: str, agents: int) -> str:
    need = level.cooperative_collection.of(name)
    people = "1 agent" if need.required_agents == 1 else f"{need.required_agents} agents"
    tool = f", each with {need.required_tool}" if need.required_tool else ", no tool"
    gives = "" if GIVES[name] == name else f" (gives {GIVES[name]})"
    beyond = "; more than your team has" if need.required_agents > agents else ""
    return f"- {name}{gives}: {people}{tool}{beyond}"


def _recipe(level: Level, name: str, agents: int) -> str:
    recipe = level.recipe(name)
    price = " + ".join(f"{count} {item}" for item, count in recipe.uses.items())
    near = f", at a {' and a '.join(recipe.near)}" if recipe.near else ""
    where = f", on {', '.join(recipe.where)}" if recipe.where else ""
    many = f", {recipe.required_agents} agents together" if recipe.required_agents > 1 else ""
    beyond = "; more than your team has" if recipe.required_agents > agents else ""
    return f"- {'place' if name in PLACED else 'craft'} {name}: {price}{near}{where}{many}{beyond}"


def _crafting(level: Level) -> str:
    return (
        "All who craft the same item near the station in the same step receive it; only the bag of the leader, the one "
        "of the smallest index that faces the station, pays."
    )


def _capacity(level: Level) -> str:
    if level.bag.capacity is None:
        return ""
    weights = ", ".join(f"{item} {level.bag.weight(item)}" for item in THINGS)
    return f", of a total weight of {level.bag.capacity} ({weights})"
