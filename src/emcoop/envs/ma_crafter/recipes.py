"""What may be collected, placed and made, what it takes, and what a team of a given size can ever reach."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, field_validator

from emcoop.core.config import StrictModel, nearest
from emcoop.envs.ma_crafter.constants import ITEMS, VITALS

COOPERATIVE = ("tree", "stone", "coal", "iron", "diamond")
"""The resources whose collection is cooperative (paper, listings 3 and 4)."""

GIVES = {"tree": "wood", "stone": "stone", "coal": "coal", "iron": "iron", "diamond": "diamond"}
"""The item that a resource gives to each of those who take it."""

STATIONS = ("table", "furnace")
GROUND = ("grass", "sand", "path", "water", "lava")
"""Where something can be placed, if its recipe allows it."""

THINGS = ITEMS[VITALS:]
"""What a bag holds."""


def known(name: str, names: tuple[str, ...], what: str) -> str:
    """The name itself. Raises ValueError naming the nearest when it is none of `names`."""
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}; {nearest(name, names)}")
    return name


class Recipe(StrictModel):
    """What placing or making something takes.

    `uses` is taken from the one who places, or from the leader's bag; `near` are stations within one cell;
    `where` is the ground on which it can be placed; `required_agents` make it together, in one step.
    """

    uses: dict[str, int] = Field(min_length=1)
    near: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    required_agents: int = Field(default=1, ge=1)

    @field_validator("uses")
    @classmethod
    def _real_items(cls, uses: dict[str, int]) -> dict[str, int]:
        for item, count in uses.items():
            known(item, THINGS, "item")
            if count < 1:
                raise ValueError(f"a recipe uses at least one {item}, not {count}")
        return uses

    @field_validator("near")
    @classmethod
    def _real_stations(cls, near: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(known(station, STATIONS, "station") for station in near)

    @field_validator("where")
    @classmethod
    def _real_ground(cls, where: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(known(ground, GROUND, "ground") for ground in where)


def _tool(station: str, **uses: int) -> Recipe:
    return Recipe(uses=uses, near=(station,))


RECIPES: Mapping[str, Recipe] = {
    "stone": Recipe(uses={"stone": 1}, where=GROUND),
    "table": Recipe(uses={"wood": 2}, where=("grass", "sand")),
    "furnace": Recipe(uses={"stone": 4}, near=("table",), where=("grass", "sand", "path")),
    "plant": Recipe(uses={"sapling": 1}, where=("grass",)),
    "wood_pickaxe": _tool("table", wood=1),
    "stone_pickaxe": _tool("table", wood=1, stone=1),
    "iron_pickaxe": _tool("furnace", wood=1, coal=1, iron=1),
    "wood_sword": _tool("table", wood=1),
    "stone_sword": _tool("table", wood=1, stone=1),
    "iron_sword": _tool("furnace", wood=1, coal=1, iron=1),
}
"""The paper's numbers (G.3), with Crafter's for what it does not say. A level may replace any of them."""
