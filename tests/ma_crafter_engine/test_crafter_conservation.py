"""Under random joint actions nothing appears from nowhere, and the dead do nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import crafter_play as cp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emcoop.core.seeds import Stream
from emcoop.envs.ma_crafter import constants as c
from emcoop.envs.ma_crafter.generator import generate
from emcoop.envs.ma_crafter.state import CrafterState, from_bytes, to_bytes
from emcoop.envs.ma_crafter.tables import Rules, crafter_rules

GROUND_OF = dict(zip(c.RESOURCE_ITEM[:5], c.RESOURCE_MATERIAL[:5], strict=True))


def check_items(before: CrafterState, after: CrafterState, rules: Rules) -> None:
    """The team's items change by exactly what the results say was collected, crafted, placed or lost by death."""
    change = Counter[int]()
    for item in range(c.VITALS, len(c.ITEMS)):
        change[item] = int(after.inventory[:, item].sum() - before.inventory[:, item].sum())
    paid_for = set[tuple[int, int]]()
    for i, (code, _, _, target) in enumerate(after.result.tolist()):
        gained = after.achievements[i] - before.achievements[i]
        for k in np.flatnonzero(gained):
            name = c.ACHIEVEMENTS[k]
            what, thing = name.split("_", 1)
            if what == "collect" and thing != "drink":
                change[c.ITEMS.index(thing)] -= 1
                assert code == c.COLLECTED
            elif what == "make":
                change[c.ITEMS.index(thing)] -= 1
                kind = c.CRAFTED.index(thing)
                if (kind, target) not in paid_for:
                    paid_for.add((kind, target))
                    change.update({item: int(n) for item, n in enumerate(rules.make_uses[kind]) if n})
            elif what == "place":
                change.update({item: int(n) for item, n in enumerate(rules.place_uses[c.PLACED.index(thing)]) if n})
    died = after.agents[:, c.DEATHS] > before.agents[:, c.DEATHS]
    for item in range(c.VITALS, len(c.ITEMS)):
        if died.any():
            assert change[item] <= 0
        else:
            assert change[item] == 0, c.ITEMS[item]


def check_ground(before: CrafterState, after: CrafterState) -> None:
    """Ore goes only where somebody took part there, and every unit in a bag came from a cell."""
    changed = np.argwhere(before.material != after.material)
    cells = {int(row * after.material.shape[1] + col) for row, col in changed}
    told = {target for code, _, _, target in after.result.tolist() if code in (c.COLLECTED, c.PLACED_IT)}
    arrows = {cell for cell in cells if before.material.ravel()[cell] in (c.TABLE, c.FURNACE)}
    assert cells <= told | arrows
    for item, material in GROUND_OF.items():
        if (after.achievements - before.achievements)[:, c.ACHIEVEMENTS.index(f"collect_{c.ITEMS[item]}")].any():
            assert (before.material == material).sum() > (after.material == material).sum() or material == c.STONE


@given(agents=st.integers(1, 6), seed=st.integers(0, 10_000), rich=st.booleans())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_items_bodies_and_bookkeeping_stay_consistent_under_random_play(agents: int, seed: int, rich: bool) -> None:
    rules = cp.COOPERATIVE
    state, stream = generate(rules, agents, seed % 7, (32, 32)), Stream(seed)
    if rich:
        state.inventory[:, c.VITALS : c.DIAMONDS] = 2
    for k in range(150):
        after, rewards, _ = cp.step(state, cp.lively(stream, agents), rules)
        check_items(state, after, rules)
        check_ground(state, after)
        first = ((after.achievements > 0) & (state.achievements == 0)).sum(axis=1)
        assert np.allclose(rewards, first + 0.1 * (after.inventory[:, 0] - state.inventory[:, 0]))
        if k % 10 == 0:
            cp.check_sound(after, rules)
        state = after


@pytest.mark.parametrize("agents", [1, 2, 3, 6, 16])
def test_teams_of_any_size_play_on_a_sound_state(agents: int) -> None:
    for state in cp.play(agents, 5, 60, cp.COOPERATIVE)[::6]:
        cp.check_sound(state, cp.COOPERATIVE)


def test_the_dead_do_nothing_and_leave_nothing_behind() -> None:
    rules = crafter_rules(on_death="continue", monsters=False)
    state, stream = generate(rules, 3, 1), Stream(4)
    state.inventory[1, :] = 0
    state.inventory[1, c.WOOD] = 5
    state, _, _ = cp.step(state, [c.NOOP] * 3, rules)
    assert state.agents[:, c.DEAD].tolist() == [0, 1, 0]
    assert not (state.occupant == 2).any()
    for _ in range(200):
        after, rewards, outcome = cp.step(state, cp.lively(stream, 3), rules)
        for name in ("agents", "inventory", "achievements"):
            assert np.array_equal(getattr(after, name)[1], getattr(state, name)[1])
        assert after.result[1, 0] == c.IS_DEAD
        assert rewards[1] == 0
        assert outcome == 0
        state = after
    assert not state.inventory[1].any()


def test_a_step_changes_nothing_of_the_state_it_was_given() -> None:
    state, stream = generate(cp.COOPERATIVE, 3, 2), Stream(1)
    for _ in range(50):
        before = to_bytes(state)
        after, _, _ = cp.step(state, cp.lively(stream, 3), cp.COOPERATIVE)
        assert to_bytes(state) == before
        state = after


def test_a_restored_snapshot_has_the_same_future() -> None:
    state = cp.play(3, 8, 40, cp.COOPERATIVE)[-1]
    other, one, two = from_bytes(to_bytes(state)), Stream(9), Stream(9)
    for _ in range(100):
        state, _, _ = cp.step(state, cp.lively(one, 3), cp.COOPERATIVE)
        other, _, _ = cp.step(other, cp.lively(two, 3), cp.COOPERATIVE)
    assert to_bytes(state) == to_bytes(other)


def test_another_process_compiled_or_not_plays_the_same_episode() -> None:
    code = "import crafter_play; print(crafter_play.digest(3, 11, 120))"
    digests = {cp.digest(3, 11, 120)}
    for compiled, hashing in (("0", "1"), ("1", "2")):
        environ = {**os.environ, "EMCOOP_COMPILE": compiled, "PYTHONHASHSEED": hashing}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environ,
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1


@pytest.mark.parametrize("cut", [0, 7, 8, 30, -1])
def test_bytes_that_are_no_snapshot_are_refused(cut: int) -> None:
    data = to_bytes(generate(crafter_rules(), 1, 0, (32, 32)))
    with pytest.raises(ValueError, match="MA-Crafter"):
        from_bytes(data[:cut])
    broken = bytearray(data)
    broken[24] = 99
    with pytest.raises(ValueError, match="MA-Crafter"):
        from_bytes(bytes(broken))
