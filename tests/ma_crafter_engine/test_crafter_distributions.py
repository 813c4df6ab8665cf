"""Where Crafter's random numbers cannot be matched: shares of terrain, and what a random player achieves and suffers.

Tolerances are four standard errors: a right rule fails by chance about once in 16,000 comparisons. Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import original
import pytest

from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter import constants as c
from emcoop.envs.ma_crafter.generator import generate
from emcoop.envs.ma_crafter.rules import step_in_place
from emcoop.envs.ma_crafter.state import CrafterState
from emcoop.envs.ma_crafter.tables import crafter_rules

ACTIONS = c.COLLECT
"""Crafter's own 17."""
LONGEST = 600


class Whole(original.Original):
    """Crafter with balanced chunks, still without pictures."""

    def _balance_chunk(self, chunk: object, objs: object) -> None:
        super(original.Original, self)._balance_chunk(chunk, objs)


def theirs_of(state: CrafterState, seed: int) -> Whole:
    """Crafter on our world."""
    env = Whole(seed=seed)
    world = env._world
    world.reset(seed=seed)
    world._mat_map[:] = state.material.T
    env._step = 0
    env._player = original.objects.Player(world, (int(state.agents[0, c.COL]), int(state.agents[0, c.ROW])))
    env._last_health, env._unlocked = 9, set()
    # Crafter balances only chunks in which something has been; ours all of them, so let it know them all.
    for corner in np.ndindex(-(-world.area[0] // c.CHUNK), -(-world.area[1] // c.CHUNK)):
        _ = world._chunks[world.chunk_key(np.array(corner) * c.CHUNK)]
    world.add(env._player)
    for mob in state.mobs[state.mobs[:, c.KIND] > 0]:
        kind = c.MOBS[mob[c.KIND]]
        extra = () if kind == "cow" else (env._player,)
        world.add(original.KINDS[kind](world, (int(mob[c.MOB_COL]), int(mob[c.MOB_ROW])), *extra))
    return env


def their_episode(state: CrafterState, seed: int) -> tuple[np.ndarray, int]:
    """(achieved [22], steps) of a random player in Crafter, on our world."""
    env = theirs_of(state, seed)
    stream = Stream.named(seed, "theirs")
    while env._step < LONGEST and env._player.health > 0:
        env.step(stream.below(ACTIONS))
    return np.array([env._player.achievements[name] > 0 for name in c.ACHIEVEMENTS]), env._step


def our_episode(start: CrafterState, seed: int) -> tuple[np.ndarray, int]:
    """The same with our rules."""
    state, rules, rewards = start.copy(), crafter_rules(), np.zeros(1)
    state.rng[0] = Stream.named(seed, "rng").counter
    stream = Stream.named(seed, "ours")
    for _ in range(LONGEST):
        step_in_place(state, rules, np.array([stream.below(ACTIONS)], np.int64), rewards)
        if state.agents[0, c.DEAD]:
            break
    return state.achievements[0] > 0, state.step


@pytest.mark.slow
def test_a_random_player_fares_as_in_crafter() -> None:
    starts = [generate(crafter_rules(), 1, seed) for seed in range(100)]
    theirs = [their_episode(state, 1000 * turn + k) for turn in range(2) for k, state in enumerate(starts)]
    ours = [our_episode(state, 1000 * turn + k) for turn in range(10) for k, state in enumerate(starts)]
    rates = {
        name: (np.mean([found[0][k] for found in theirs]), np.mean([found[0][k] for found in ours]))
        for k, name in enumerate(c.ACHIEVEMENTS)
    }
    steps = [np.array([found[1] for found in played], float) for played in (theirs, ours)]
    for a, b in rates.values():
        pooled = (a * len(theirs) + b * len(ours)) / (len(theirs) + len(ours))
        error = np.sqrt(pooled * (1 - pooled) * (1 / len(theirs) + 1 / len(ours)))
        assert abs(a - b) <= 4 * error + 0.005, rates
    assert abs(steps[0].mean() - steps[1].mean()) < 4 * steps[0].std() / np.sqrt(len(theirs))
    assert sum(b > 0 for _, b in rates.values()) >= 6


def populations(start: CrafterState, seed: int, theirs: bool) -> list[int]:
    """Cows, zombies and skeletons after 100, 200 and 300 steps of a player that stands still and cannot die."""
    state, env, found = start.copy(), theirs_of(start, seed), list[int]()
    state.rng[0] = Stream.named(seed, "population").counter
    for step in range(1, 301):
        if theirs:
            env._player.inventory.update(health=9, food=9, drink=9, energy=9)
            env.step(0)
        else:
            state.inventory[0, : c.VITALS] = 9
            step_in_place(state, crafter_rules(), np.zeros(1, np.int64), np.zeros(1))
        if step % 100 == 0:
            kinds = [mob[0] for mob in (original.their_mobs(env) if theirs else original.our_mobs(state))]
            found += [kinds.count(kind) for kind in ("cow", "zombie", "skeleton")]
    return found


@pytest.mark.slow
def test_mobs_multiply_and_vanish_as_in_crafter() -> None:
    starts = [generate(crafter_rules(), 1, seed) for seed in range(24)]
    theirs, ours = ([populations(start, k, side) for k, start in enumerate(starts)] for side in (True, False))
    a, b = np.array(theirs, float), np.array(ours, float)
    # The same worlds: the difference of each pair is what counts.
    error = (a - b).std(axis=0) / np.sqrt(len(a))
    assert (np.abs((a - b).mean(axis=0)) <= 4 * error + 0.5).all(), (a.mean(axis=0), b.mean(axis=0))


@pytest.mark.slow
def test_terrain_and_first_mobs_have_crafters_shares() -> None:
    theirs, ours = [], []
    for seed in range(40):
        env = original.fresh(seed)
        kinds = [mob[0] for mob in original.their_mobs(env)]
        counts = np.bincount(original.ground(env).ravel(), minlength=13)
        theirs.append([*counts, *(kinds.count(kind) for kind in ("cow", "zombie", "skeleton"))])
    for seed in range(160):
        state = generate(crafter_rules(), 1, seed)
        mobs = np.bincount(state.mobs[:, c.KIND], minlength=6)[[c.COW, c.ZOMBIE, c.SKELETON]]
        ours.append([*np.bincount(state.material.ravel(), minlength=13), *mobs])
    a, b = np.array(theirs, float), np.array(ours, float)
    error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= 4 * error + 1e-9).all()


def test_a_start_stands_together_on_free_ground_at_every_team_size() -> None:
    for agents in (1, 2, 3, 6, 16):
        state = generate(crafter_rules(), agents, 3)
        places = state.agents[:, [c.ROW, c.COL]]
        assert places[0].tolist() == [32, 32]
        assert len({tuple(place) for place in places.tolist()}) == agents
        assert np.isin(state.material[places[:, 0], places[:, 1]], c.WALKABLE).all()
        assert np.abs(places - 32).sum(axis=1).max() <= 6


def test_a_world_has_what_it_must_have() -> None:
    for seed in range(10):
        state = generate(crafter_rules(), 1, seed, (32, 32), ("diamond", "iron", "coal"))
        assert {c.DIAMOND, c.IRON, c.COAL} <= set(np.unique(state.material).tolist())


def test_a_world_without_mobs_never_has_any() -> None:
    rules = crafter_rules(monsters=False, cows=False, on_death="respawn")
    state = generate(rules, 2, 0)
    for _ in range(400):
        step_in_place(state, rules, np.zeros(2, np.int64), np.zeros(2))
    assert not state.mobs[:, c.KIND].any()
