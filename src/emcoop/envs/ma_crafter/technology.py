"""What to do next for a goal: the technology tree of a level, walked backwards from what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from emcoop.envs.ma_crafter.config import Level
from emcoop.envs.ma_crafter.constants import CRAFTED, MOST, PLACED
from emcoop.envs.ma_crafter.knowledge import Bag
from emcoop.envs.ma_crafter.recipes import GIVES

SOURCE = {item: resource for resource, item in GIVES.items()}
"""The resource that gives an item."""

STONES = 6
"""Stones that are taken at a time: for a furnace, a tool, and to close a door."""

Near = Callable[[str], bool]
"""Whether a station of this name is known and not far."""


@dataclass(frozen=True, slots=True)
class Need:
    """Collect one of `things` (resources), craft `things[0]`, or place it; `explore` when nothing is left to want."""

    verb: Literal["collect", "craft", "place", "explore"]
    things: tuple[str, ...] = ()


class Technology:
    """The tree of one level; `next` says what an agent with this bag does now."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._goals = level.needed()
        self._chain = self._pickaxes()

    def next(self, bag: Bag, near: Near, achieved: frozenset[str] = frozenset(), at_hand: Near | None = None) -> Need:
        """The next thing to do, given what the team has achieved so far; swords are made only `at_hand`."""
        early = self._stock(bag, near) or self._sword(bag, at_hand or near)
        if early is not None:
            return early
        for goal in self._goals:
            verb, _, thing = goal.partition("_")
            if goal in achieved:
                continue
            if verb == "collect" and thing in SOURCE:
                return self._take(SOURCE[thing], bag, near)
            if verb == "make" and thing in CRAFTED:
                return self._have(thing, bag, near)
            if verb == "place" and thing in PLACED:
                return self._build(thing, bag, near)
        return Need("explore")

    def _pickaxes(self) -> tuple[str, ...]:
        """The tools without which the goal's resources cannot be taken, the first one first."""
        found: list[str] = []
        wanted = [goal.partition("_")[2] for goal in self._goals]
        while wanted:
            thing = wanted.pop()
            if thing in CRAFTED and thing not in found:
                found.insert(0, thing)
                wanted += [item for item in self._level.recipe(thing).uses if item in SOURCE and item != "wood"]
            tool = self._level.tool(SOURCE[thing]) if thing in SOURCE else None
            if tool is not None and tool not in found:
                wanted.append(tool)
        return tuple(found)

    def _stock(self, bag: Bag, near: Near) -> Need | None:
        """A full load of wood before the first table and tool."""
        if not self._chain or bag.get(self._chain[0]) or near("table") or self._level.bag.capacity is not None:
            return None
        return Need("collect", ("tree",)) if bag.get("wood", 0) < self._first_load() else None

    def _first_load(self) -> int:
        wood = sum(self._level.recipe(tool).uses.get("wood", 0) for tool in self._chain)
        return min(self._level.bag.cap, MOST, wood + 2 * self._level.recipe("table").uses.get("wood", 0) + 2)

    def _sword(self, bag: Bag, near: Near) -> Need | None:
        """A sword as soon as it costs nothing that is needed."""
        for sword, tool in (("stone_sword", "stone_pickaxe"), ("wood_sword", "wood_pickaxe")):
            recipe = self._level.recipe(sword)
            owned = bag.get(sword) or bag.get("stone_sword") or bag.get("iron_sword")
            if owned or not bag.get(tool) or recipe.required_agents > 1:
                continue
            paid = all(bag.get(item, 0) >= count for item, count in recipe.uses.items())
            if paid and bag.get("wood", 0) > recipe.uses.get("wood", 0) and all(near(s) for s in recipe.near):
                return Need("craft", (sword,))
        return None

    def _take(self, resource: str, bag: Bag, near: Near) -> Need:
        tool = self._level.tool(resource)
        if tool is not None and not bag.get(tool):
            return self._have(tool, bag, near)
        return Need("collect", (resource,))

    def _have(self, item: str, bag: Bag, near: Near) -> Need:
        return self._pay(item, bag, near) or Need("craft", (item,))

    def _build(self, thing: str, bag: Bag, near: Near) -> Need:
        return self._pay(thing, bag, near) or Need("place", (thing,))

    def _pay(self, thing: str, bag: Bag, near: Near) -> Need | None:
        """What is missing for a recipe: its materials, of which the one at hand is taken first, then its stations."""
        recipe = self._level.recipe(thing)
        lacking = [item for item, count in recipe.uses.items() if bag.get(item, 0) < count]
        needs = [
            self._take(SOURCE[item], bag, near) if item in SOURCE else self._have(item, bag, near) for item in lacking
        ]
        collects = tuple(thing for need in needs if need.verb == "collect" for thing in need.things)
        if collects:
            return Need("collect", tuple(dict.fromkeys(collects)))
        if needs:
            return needs[0]
        missing = next((station for station in recipe.near if not near(station)), None)
        return None if missing is None else self._build(missing, bag, near)
