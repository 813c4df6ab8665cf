"""The levels of MA-Crafter: the paper's YAML keys (listings 3 and 4) and ours, read strictly.

A level says how many agents each resource needs, the recipes, the bag, and when the episode is won or over. What no
team of a given size can do is worked out before the start, by `impossible`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from emcoop.core.config import StrictModel, load, nearest, read_yaml
from emcoop.core.errors import ConfigError
from emcoop.envs.ma_crafter.constants import ACHIEVEMENTS, CRAFTED, MOST, PLACED, VIEW_COLS, VIEW_ROWS
from emcoop.envs.ma_crafter.recipes import COOPERATIVE, GIVES, RECIPES, THINGS, Recipe, known
from emcoop.envs.ma_crafter.tables import UNLIMITED, Rules, crafter_rules

BUILTIN = ("easy", "medium", "hard", "hard-wide", "hard-scaled")

HORIZON = 10_000
"""Steps of an episode, as in Crafter."""

DIAMOND = "diamond"

MILESTONES = (
    "collect_wood",
    "place_table",
    "make_wood_pickaxe",
    "collect_stone",
    "make_stone_pickaxe",
    "collect_coal",
    "place_furnace",
    "collect_iron",
    "make_iron_pickaxe",
    "collect_diamond",
)
"""The way to the diamond: `progress` is the share of these that some agent of the team has achieved."""


class Resource(StrictModel):
    """How many agents must take a resource together, and with which tool each of them."""

    required_agents: int = Field(default=1, ge=1)
    required_tool: str | None = None

    @field_validator("required_tool")
    @classmethod
    def _real_tool(cls, tool: str | None) -> str | None:
        return tool if tool is None else known(tool, CRAFTED, "tool")


_TOOL_OF = {"tree": None, "stone": "wood_pickaxe", "coal": "wood_pickaxe", "iron": "stone_pickaxe"}


def _default(resource: str) -> Resource:
    return Resource(required_tool=_TOOL_OF.get(resource, "iron_pickaxe"))


class Collection(StrictModel):
    """The paper's `cooperative_collection`. `distance_threshold` is in cells, |rows| + |columns|.

    With `enabled: false` one agent suffices for everything; tools are needed all the same.
    """

    enabled: bool = True
    distance_threshold: int = Field(default=1, ge=1, le=4)
    resources: dict[str, Resource] = Field(default_factory=dict)

    @field_validator("resources")
    @classmethod
    def _real_resources(cls, resources: dict[str, Resource]) -> dict[str, Resource]:
        for name in resources:
            known(name, COOPERATIVE, "resource")
        return {name: resources.get(name, _default(name)) for name in COOPERATIVE}

    def of(self, resource: str) -> Resource:
        """The requirement of this resource."""
        found = self.resources.get(resource, _default(resource))
        return found if self.enabled else found.model_copy(update={"required_agents": 1})


class Bag(StrictModel):
    """What an agent can carry: at most `cap` of each item, and items of a total weight of `capacity`.

    Every item weighs 1 unless `weights` says otherwise; without a capacity weights do not matter.
    """

    cap: int = Field(default=MOST, ge=1, le=MOST)
    capacity: int | None = Field(default=None, ge=1)
    weights: dict[str, int] = Field(default_factory=dict)

    @field_validator("weights")
    @classmethod
    def _real_weights(cls, weights: dict[str, int]) -> dict[str, int]:
        for item, weight in weights.items():
            known(item, THINGS, "item")
            if weight < 0:
                raise ValueError(f"{item} cannot weigh {weight}")
        return weights

    def weight(self, item: str) -> int:
        """The weight of one of this item."""
        return self.weights.get(item, 1)

    def holds(self, items: Mapping[str, int]) -> bool:
        """Whether an empty bag can hold all of these."""
        load = sum(self.weight(item) * count for item, count in items.items())
        return max(items.values()) <= self.cap and (self.capacity is None or load <= self.capacity)


def _goal(value: object) -> object:
    return (value,) if isinstance(value, str) and value != DIAMOND else value


def _mobs(value: object) -> object:
    return {True: "all", False: "none"}[value] if isinstance(value, bool) else value


class Level(StrictModel):
    """A level file.

    `goal` is ``diamond`` (any agent collects one) or a list of achievements of which each must be reached by some
    agent. `on_death`: the episode ends with the first death, or goes on without the dead agent, or the agent
    starts again with an empty bag. `cap_to_team` lowers every requirement to the size of the team. `recipes` replaces
    single recipes of `recipes.RECIPES`. `mobs` are all, only the cows, or none (true and false mean all and none).
    With `whole_map` every agent that is awake knows the ground of the whole world and where its teammates are; animals
    and enemies are known while they are in view, as ever.
    """

    cooperative_collection: Collection = Collection()
    recipes: dict[str, Recipe] = Field(default_factory=dict)
    bag: Bag = Bag()
    share_distance: int = Field(default=1, ge=1)
    on_death: Literal["end", "continue", "respawn"] = "end"
    goal: Annotated[Literal["diamond"] | tuple[str, ...], BeforeValidator(_goal)] = "diamond"
    mobs: Annotated[Literal["all", "cows", "none"], BeforeValidator(_mobs)] = "all"
    size: int = Field(default=64, ge=16, le=256)
    horizon: int = Field(default=HORIZON, ge=1)
    cap_to_team: bool = False
    whole_map: bool = False

    @field_validator("recipes")
    @classmethod
    def _real_recipes(cls, recipes: dict[str, Recipe]) -> dict[str, Recipe]:
        for name, recipe in recipes.items():
            known(name, tuple(RECIPES), "recipe")
            if (name in PLACED) != bool(recipe.where):
                rule = (
                    "`where` must say on which ground it can be placed"
                    if name in PLACED
                    else "it cannot be placed, so it has no `where`"
                )
                raise ValueError(f"{name}: {rule}")
            if name in PLACED and recipe.required_agents > 1:
                raise ValueError(f"{name}: one agent places it; required_agents is for what is made")
        return recipes

    @field_validator("goal")
    @classmethod
    def _real_goal(cls, goal: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(goal, tuple):
            if not goal:
                raise ValueError("a goal is diamond or names at least one achievement")
            for name in goal:
                known(name, ACHIEVEMENTS, "achievement")
            if len(set(goal)) < len(goal):
                raise ValueError("a goal names each achievement once")
        return goal

    def required(self, resource: str) -> int:
        """How many agents must take this resource together (any of `constants.RESOURCES`)."""
        return self.cooperative_collection.of(resource).required_agents if resource in COOPERATIVE else 1

    def tool(self, resource: str) -> str | None:
        """The tool that each of them needs."""
        return self.cooperative_collection.of(resource).required_tool if resource in COOPERATIVE else None

    def recipe(self, name: str) -> Recipe:
        """The recipe in force."""
        return self.recipes.get(name, RECIPES[name])

    def for_team(self, agents: int) -> Level:
        """This level as a team of this size plays it: every requirement capped, if `cap_to_team`."""
        if not self.cap_to_team:
            return self
        rules = self.cooperative_collection
        capped = {
            name: r.model_copy(update={"required_agents": min(r.required_agents, agents)})
            for name, r in rules.resources.items()
        }
        recipes = {
            name: r.model_copy(update={"required_agents": min(r.required_agents, agents)})
            for name, r in self.recipes.items()
        }
        update = {"cooperative_collection": rules.model_copy(update={"resources": capped}), "recipes": recipes}
        return self.model_copy(update=update)

    def needed(self) -> tuple[str, ...]:
        """The achievements that mean success."""
        return ("collect_diamond",) if isinstance(self.goal, str) else self.goal

    def goals(self) -> tuple[str, ...]:
        """The achievements that progress counts: the task set, or the way to the diamond."""
        return MILESTONES if isinstance(self.goal, str) else self.goal


def read_level(name: str) -> Level:
    """A built-in level, or a level file by its path. Raises ConfigError, for an unknown name with the nearest."""
    if name in BUILTIN:
        path = Path(str(files("emcoop.envs.ma_crafter") / "levels" / f"{name}.yaml"))
        return load(Level, read_yaml(path), f"level {name}")
    if name.endswith((".yaml", ".yml")):
        return load(Level, read_yaml(Path(name)) or {}, name)
    raise ConfigError(f"ma-crafter has no level {name!r}; {nearest(name, BUILTIN)}; a level file is named by its path")


def reachable(level: Level, agents: int) -> set[str]:
    """The achievements that a team of this size can reach at this level, by what its rules allow."""
    rules, items, placed = level.cooperative_collection, {"sapling"}, set[str]()
    while True:
        before = len(items) + len(placed)
        for name in COOPERATIVE:
            need = rules.of(name)
            if need.required_agents <= min(agents, _room(level)) and (
                need.required_tool is None or need.required_tool in items
            ):
                items.add(GIVES[name])
        for name in RECIPES:
            recipe = level.recipe(name)
            if set(recipe.uses) <= items and set(recipe.near) <= placed and _can_pay(level, name, agents):
                (placed if name in PLACED else items).add(name)
        if len(items) + len(placed) == before:
            break
    found = {f"collect_{item}" for item in items} | {f"place_{name}" for name in placed}
    found |= {f"make_{tool}" for tool in CRAFTED if tool in items} | {"collect_drink", "wake_up"}
    if "plant" in placed:
        found.add("eat_plant")
    if level.mobs != "none":
        found.add("eat_cow")
    if level.mobs == "all":
        found |= {"defeat_zombie", "defeat_skeleton"}
    return found & set(ACHIEVEMENTS)


def materials_needed(level: Level) -> tuple[str, ...]:
    """The resources without which the goal cannot be reached: every world of this level has them."""
    needed, queue = set[str](), [name.partition("_")[2] for name in level.needed()]
    met = set(queue)
    while queue:
        thing = queue.pop()
        recipe = level.recipe(thing) if thing in RECIPES and thing not in GIVES.values() else None
        sources = [resource for resource, item in GIVES.items() if item == thing]
        needed.update(sources)
        tools = [level.tool(resource) for resource in sources]
        wanted = [tool for tool in tools if tool] + ([*recipe.uses, *recipe.near] if recipe else [])
        queue += sorted(set(wanted) - met)
        met.update(wanted)
    return tuple(name for name in COOPERATIVE if name in needed)


def _room(level: Level) -> int:
    """How many cells there are around one from which it can be taken."""
    reach = level.cooperative_collection.distance_threshold
    return 2 * reach * (reach + 1)


def _can_pay(level: Level, name: str, agents: int) -> bool:
    recipe = level.recipe(name)
    return recipe.required_agents <= agents and level.bag.holds(recipe.uses)


def warnings(level: Level, agents: int) -> tuple[str, ...]:
    """What the user must know before the start: requirements above the size of the team or the room around a cell."""
    lines = []
    for name in COOPERATIVE:
        need = level.cooperative_collection.of(name).required_agents
        if need > agents:
            lines.append(f"no team of {agents} can take {name} at this level: it needs {need} agents")
        elif need > _room(level):
            lines.append(f"no team can take {name} at this level: {need} agents must stand on {_room(level)} cells")
        elif need == _room(level):
            lines.append(f"{name} takes an agent on each of the {need} cells around it, which few worlds allow")
    for name in RECIPES:
        recipe = level.recipe(name)
        if recipe.required_agents > agents:
            lines.append(f"no team of {agents} can make {name} at this level: it needs {recipe.required_agents} agents")
        if not level.bag.holds(recipe.uses):
            lines.append(f"no bag can hold what {name} takes at this level")
    return tuple(lines)


def impossible(level: Level, agents: int) -> str | None:
    """Why no team of this size can reach the goal, or None."""
    missing = [name for name in level.needed() if name not in reachable(level, agents)]
    if not missing:
        return None
    because = warnings(level, agents)
    reason = f"no team of {agents} can reach {', '.join(missing)} at this level"
    return reason + (f": {'; '.join(because)}" if because else "")


def tables(level: Level) -> Rules:
    """The level as the arrays that the kernels take."""
    rules = level.cooperative_collection
    recipes = {name: level.recipe(name) for name in RECIPES}
    return crafter_rules(
        required={name: rules.of(name).required_agents for name in COOPERATIVE},
        tools={name: rules.of(name).required_tool for name in COOPERATIVE},
        reach=rules.distance_threshold,
        uses={name: recipe.uses for name, recipe in recipes.items()},
        near={name: recipe.near for name, recipe in recipes.items()},
        on={name: recipe.where for name, recipe in recipes.items() if name in PLACED},
        makers={name: recipe.required_agents for name, recipe in recipes.items() if name in CRAFTED},
        weights={item: level.bag.weight(item) for item in THINGS},
        cap=level.bag.cap,
        capacity=UNLIMITED if level.bag.capacity is None else level.bag.capacity,
        share_distance=level.share_distance,
        leader_faces=True,
        monsters=level.mobs == "all",
        cows=level.mobs != "none",
        on_death=level.on_death,
        goal=level.needed(),
        sight=(2 * level.size + 1, 2 * level.size + 1) if level.whole_map else (VIEW_ROWS, VIEW_COLS),
    )
