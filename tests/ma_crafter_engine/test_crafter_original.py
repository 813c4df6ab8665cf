"""Our rules and ground against Crafter 1.8.3 itself."""

from __future__ import annotations

import numpy as np
import opensimplex
import original
import pytest
from crafter import worldgen

from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter import constants as c
from emcoop.envs.ma_crafter.noise import noise, uniforms
from emcoop.envs.ma_crafter.terrain import DRAWS, terrain

RICH = {"sapling": 5, "wood": 7, "stone": 7, "coal": 3, "iron": 3}
ALL = dict.fromkeys(c.ITEMS[c.VITALS :], 9)
ARMED = RICH | {"wood_pickaxe": 1, "stone_pickaxe": 1, "iron_pickaxe": 1, "wood_sword": 1}
WORKSHOP = {
    (31, 31): "table",
    (32, 31): "furnace",
    (32, 33): "diamond",
    (31, 33): "iron",
    (33, 33): "lava",
    (32, 34): "tree",
    (30, 32): "water",
}


def choose(stream: Stream, state: original.CrafterState) -> int:
    """Mostly walking on and using what is in front."""
    if stream.below(3) == 0:
        return stream.choice((c.DO, c.DO, c.DO, *range(c.SLEEP, c.COLLECT)))
    return c.LEFT + stream.below(4) if stream.below(4) == 0 else int(state.agents[0, c.FACING])


@pytest.mark.parametrize("sapling", [False, True])
@pytest.mark.parametrize("start", [{}, RICH, ARMED, ALL], ids=["bare", "rich", "armed", "nine of all"])
@pytest.mark.parametrize("seed", range(4))
def test_one_agent_lives_as_in_crafter_itself(seed: int, start: dict[str, int], sapling: bool) -> None:
    env = original.fresh(seed)
    original.clear(env)
    env._player.inventory.update(start)
    if start in (ARMED, ALL):
        for place, thing in WORKSHOP.items():
            env._world[place] = thing
    env._player.random = original.Fixed(0.0 if sapling else 1.0)
    state, rules = original.ours(env), original.still_rules(sapling)
    stream = Stream.named(seed, "crafter", *sorted(start), int(sapling))
    for step in range(700):
        if step % 100 == 99:
            for vital in ("food", "drink"):
                env._player.inventory[vital] = state.inventory[0, c.ITEMS.index(vital)] = 6
        action = choose(stream, state)
        original.step_both(env, state, rules, action)
        if env._player.health <= 0 or state.agents[0, c.DEAD]:
            assert env._player.inventory["health"] <= 1  # Crafter may heal one point in lava
            assert state.agents[0, c.DEAD]
            break
        assert original.differences(env, state) == [], f"step {step}: {c.primitive_names(1)[action]}"


def boxed() -> np.ndarray:
    """A mob at (4, 5) between stones, which cannot move, and the agent at (4, 4) on its open side."""
    ground = np.full((9, 9), c.GRASS)
    ground[3:6, 5:7] = c.STONE
    ground[4, 5] = c.GRASS
    return ground


@pytest.mark.parametrize("mob", ["cow", "zombie"])
@pytest.mark.parametrize("sword", [None, "wood_sword", "stone_sword", "iron_sword"])
def test_a_fight_with_a_mob_that_cannot_move_goes_as_in_crafter(mob: str, sword: str | None) -> None:
    env = original.built(boxed(), (4, 4), [(mob, 4, 5)])
    if sword:
        env._player.inventory[sword] = 1
    env._player.inventory["food"] = 2
    env._player.facing = (1, 0)
    state, rules = original.ours(env), original.still_rules(False)
    state.agents[0, c.FACING] = c.RIGHT
    for action in [c.NOOP] * 8 + [c.DO] * 4:
        original.step_both(env, state, rules, action)
        if not original.their_mobs(env) or not original.our_mobs(state):
            break
        assert original.differences(env, state) == []
    beaten = "eat_cow" if mob == "cow" else "defeat_zombie"
    if sword or mob == "cow":
        assert env._player.achievements[beaten] == state.achievements[0, c.ACHIEVEMENTS.index(beaten)] == 1


def test_a_zombie_hurts_a_sleeper_as_in_crafter() -> None:
    env = original.built(boxed(), (4, 4), [("zombie", 4, 5)])
    env._player.inventory["energy"] = 3
    state, rules = original.ours(env), original.still_rules(False)
    for _ in range(4):
        original.step_both(env, state, rules, c.SLEEP)
        assert original.differences(env, state) == []
    assert state.inventory[0, c.HEALTH] == 2


def test_a_plant_grows_is_eaten_and_is_trampled_as_in_crafter() -> None:
    ground = np.full((9, 9), c.GRASS)
    env = original.built(ground, (4, 4), [("plant", 5, 4)])
    state, rules = original.ours(env), original.still_rules(False)
    env._player.inventory["food"] = 1
    state.inventory[0, c.FOOD] = 1
    for step in range(306):
        env._player.inventory.update(food=3, drink=9)
        state.inventory[0, [c.FOOD, c.DRINK]] = 3, 9
        original.step_both(env, state, rules, c.DO if step > 295 else c.NOOP)
        assert original.differences(env, state) == []
    assert state.achievements[0, c.ACHIEVEMENTS.index("eat_plant")] == 1
    env = original.built(boxed(), (7, 1), [("cow", 4, 5), ("plant", 4, 4)])
    state = original.ours(env)
    original.step_both(env, state, rules, c.NOOP)
    assert original.differences(env, state) == []
    assert [mob[0] for mob in original.our_mobs(state)] == ["cow"]


def test_noise_is_opensimplex_but_for_its_rounding() -> None:
    points = uniforms(Stream(3), (2, 400)) * 60 - 30
    for seed in range(3):
        theirs = opensimplex.OpenSimplex(seed)
        for z in (0.0, 3.0, 7.0):
            expected = [theirs.noise3(x, y, z) for x, y in points.T]
            assert np.abs(noise(theirs._perm, points[0], points[1], z) - expected).max() < 1e-3


class _Constant:
    """Stands for a RandomState that always draws the same number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def uniform(self) -> float:
        return self.value

    def randint(self, low: int, high: int) -> int:
        return 12345


@pytest.mark.parametrize("value", [0.0, 0.9999], ids=["no ore or trees", "ore and trees"])
def test_the_ground_is_crafters_for_the_same_noise_and_draws(value: float) -> None:
    env = original.fresh(1)
    original.clear(env)
    env._world.random = _Constant(value)
    worldgen.generate_world(env._world, env._player)
    order = opensimplex.OpenSimplex(seed=12345)._perm
    material, _ = terrain(order, np.full((DRAWS, 64, 64), value), (32, 32))
    # A cell may differ where a threshold lies within OpenSimplex's own error.
    assert (material != original.ground(env)).sum() <= 4
