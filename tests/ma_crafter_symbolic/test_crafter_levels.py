"""Levels of MA-Crafter: the paper's files, strict reading, and what a team can never do."""

from pathlib import Path

import pytest

from emcoop.core.errors import ConfigError
from emcoop.envs.ma_crafter.config import BUILTIN, Level, impossible, materials_needed, reachable, read_level, warnings
from emcoop.envs.ma_crafter.env import make
from emcoop.envs.ma_crafter.recipes import COOPERATIVE


def written(folder: Path, text: str) -> str:
    path = folder / "level.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_papers_levels_have_the_papers_numbers() -> None:
    required = {
        name: tuple(read_level(name).required(resource) for resource in COOPERATIVE) for name in ("easy", "hard")
    }
    assert required == {"easy": (1, 1, 1, 1, 1), "hard": (2, 3, 3, 4, 4)}
    for name in BUILTIN:
        level = read_level(name)
        assert level.cooperative_collection.distance_threshold == (2 if name == "hard-wide" else 1)
        tools = [level.tool(resource) for resource in COOPERATIVE]
        assert tools == [None, "wood_pickaxe", "wood_pickaxe", "stone_pickaxe", "iron_pickaxe"]


def test_a_requirement_of_all_the_room_around_a_cell_is_warned_of() -> None:
    iron = "iron takes an agent on each of the 4 cells around it, which few worlds allow"
    assert make(4, "hard").warnings == (iron, iron.replace("iron", "diamond"))


def test_more_agents_than_there_is_room_for_make_a_goal_impossible() -> None:
    crowd = Level.model_validate({"cooperative_collection": {"resources": {"diamond": {"required_agents": 5}}}})
    assert "5 agents must stand on 4 cells" in (impossible(crowd, 6) or "")
    wide = {"distance_threshold": 2, "resources": {"diamond": {"required_agents": 5}}}
    assert impossible(Level.model_validate({"cooperative_collection": wide}), 6) is None


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_hard_warns_and_is_impossible_below_four_agents_and_scaled_never_is(agents: int) -> None:
    env = make(agents, "hard")
    assert f"no team of {agents} can take iron at this level: it needs 4 agents" in env.warnings
    assert env.impossible is not None
    assert "collect_diamond" in env.impossible
    scaled = make(agents, "hard-scaled")
    assert (scaled.warnings, scaled.impossible) == ((), None)
    assert scaled.layout.required("iron") == agents


def test_hard_is_possible_with_four_and_easy_and_medium_from_one_and_two() -> None:
    possible = [make(4, "hard-wide"), make(1, "easy"), make(2, "medium")]
    assert [(env.warnings, env.impossible) for env in possible] == [((), None)] * 3
    assert make(4, "hard").impossible is None
    assert make(1, "medium").impossible is not None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "cooperative_collection: {resources: {iron: {required_tool: stone_pikaxe}}}",
            ["required_tool", "'stone_pickaxe'"],
        ),
        ("cooperative_collection: {resources: {iron: {required_agents: 0}}}", ["iron.required_agents", "1"]),
        ("cooperative_collection: {resources: {irn: {}}}", ["resources", "'iron'"]),
        ("cooperative_collection: {distance: 2}", ["distance", "distance_threshold"]),
        ("cooperative_collection: {distance_threshold: 0}", ["distance_threshold"]),
        ("cooperative_colection: {}", ["cooperative_collection"]),
        ("recipes: {tabel: {uses: {wood: 1}, where: [grass]}}", ["recipes", "'table'"]),
        ("recipes: {table: {uses: {wod: 1}, where: [grass]}}", ["uses", "'wood'"]),
        ("recipes: {table: {uses: {wood: 0}, where: [grass]}}", ["uses", "at least one"]),
        ("recipes: {table: {uses: {wood: 1}}}", ["table", "where"]),
        ("recipes: {table: {uses: {wood: 1}, where: [gras]}}", ["where", "'grass'"]),
        ("recipes: {table: {uses: {wood: 1}, where: [grass], required_agents: 2}}", ["table", "one agent"]),
        ("recipes: {wood_sword: {uses: {wood: 1}, near: [tabel]}}", ["near", "'table'"]),
        ("recipes: {wood_sword: {uses: {wood: 1}, where: [grass]}}", ["wood_sword", "where"]),
        ("bag: {weights: {wod: 3}}", ["weights", "'wood'"]),
        ("bag: {weights: {wood: -3}}", ["weights", "-3"]),
        ("bag: {cap: 12}", ["bag.cap", "9"]),
        ("goal: [collect_dimond]", ["goal", "'collect_diamond'"]),
        ("goal: []", ["goal"]),
        ("goal: [eat_cow, eat_cow]", ["goal", "once"]),
        ("on_death: explode", ["on_death", "continue"]),
        ("mobs: some", ["mobs"]),
        ("size: 3", ["size"]),
        ("just text", ["level.yaml"]),
        ("a: [", ["level.yaml", "line"]),
    ],
)
def test_a_bad_level_file_is_refused_naming_the_key_and_the_nearest(
    tmp_path: Path, text: str, parts: list[str]
) -> None:
    with pytest.raises(ConfigError) as refusal:
        make(3, written(tmp_path, text))
    assert all(part in str(refusal.value) for part in ["level.yaml", *parts]), str(refusal.value)


@pytest.mark.parametrize("options", [{"horizn": 3}, {"goal": "collect_dimond"}, {"mobs": "few"}, {"size": 2}])
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        make(2, "easy", **options)


def test_options_replace_the_levels_values() -> None:
    env = make(2, "easy", horizon=50, mobs=False, on_death="respawn", goal=("place_table", "eat_cow"), size=32)
    assert (env.horizon, env.layout.mobs, env.layout.on_death, env.layout.size) == (50, "none", "respawn", 32)
    assert env.reset(0).shape == (32, 32)
    assert env.impossible is not None
    assert "eat_cow" in env.impossible
    assert "place_table" not in env.impossible


def test_a_team_that_is_too_large_for_the_world_is_refused() -> None:
    with pytest.raises(ConfigError, match="30"):
        make(31, "easy")


def test_what_can_be_reached_follows_tools_recipes_and_the_bag() -> None:
    assert "collect_diamond" in reachable(Level(), 1)
    small = Level.model_validate({"bag": {"capacity": 3}})
    assert "place_furnace" not in reachable(small, 4)
    assert any("furnace" in line for line in warnings(small, 4))
    assert impossible(small, 4) is not None
    many = Level.model_validate(
        {"recipes": {"iron_pickaxe": {"uses": {"iron": 1}, "near": ["table"], "required_agents": 3}}}
    )
    assert impossible(many, 2) is not None
    assert impossible(many, 3) is None
    assert "place_furnace" in reachable(many, 1)


def test_worlds_have_what_the_goal_needs() -> None:
    assert materials_needed(Level()) == COOPERATIVE
    assert materials_needed(Level.model_validate({"goal": ["make_stone_pickaxe"]})) == ("tree", "stone")
    assert materials_needed(Level.model_validate({"goal": ["collect_drink"]})) == ()


def test_disabled_cooperation_needs_one_agent_but_still_the_tools(tmp_path: Path) -> None:
    text = (
        "cooperative_collection: {enabled: false, resources: {iron: {required_agents: 4, required_tool: iron_sword}}}"
    )
    level = read_level(written(tmp_path, text))
    assert (level.required("iron"), level.tool("iron")) == (1, "iron_sword")
