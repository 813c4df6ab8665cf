"""One joint step of MA-Crafter, as a kernel over the arrays of a state.

The order of a step, each part documented at its module:

1. Sleepers sleep on or wake (`conduct.begin`).
2. What is done together happens on the positions at the beginning of the step: collecting (`collect`), crafting
   (`craft`), then sharing (`conduct.share`).
3. Moves, blows, sleep and placing, by agent index (`conduct.act_alone`).
4. Bodies: hunger, thirst, fatigue, recovery (`vitals.live`).
5. Mobs, by slot (`mobs.update_mobs`); every tenth step the chunks are balanced (`mobs.balance_chunks`).
6. Deaths (`vitals.bury`), and everybody looks (`sight.look`).

For one agent this is Crafter's own order, and its rules, but for what seems to be oversight there:

- What would exceed nine of an item, or the bag, is refused; there the resource is used up for nothing.
- Who steps into lava dies; there a recovery due in that very step saves it.
- A mob without health does nothing more; there it may strike once again after it was beaten.
- Stations near the border of the map are found; there the search fails beside the upper and the left one.
- Every chunk is balanced; there only those in which something has been before.
- No result depends on the order of a set, and drawing a picture draws no random number.
"""

from __future__ import annotations

from typing import Any

from emcoop.core.compile import inner_kernel, lean_kernel
from emcoop.envs.ma_crafter import sight
from emcoop.envs.ma_crafter.collect import collect
from emcoop.envs.ma_crafter.conduct import act_alone, begin, share
from emcoop.envs.ma_crafter.constants import ACHIEVEMENTS, HEALTH, STEP
from emcoop.envs.ma_crafter.craft import craft
from emcoop.envs.ma_crafter.mobs import balance_chunks, update_mobs
from emcoop.envs.ma_crafter.vitals import all_over, bury, live

_ACHIEVEMENTS = len(ACHIEVEMENTS)
_look = inner_kernel(sight.look)

BALANCE_EVERY = 10

GOING, WON, LOST = range(3)
"""What `step_in_place` returns."""


@inner_kernel
def goal_reached(state: Any, rules: Any) -> bool:
    """Whether each achievement of the goal has been reached by some agent."""
    for k in range(_ACHIEVEMENTS):
        if not rules.goal[k]:
            continue
        reached = False
        for i in range(state.achievements.shape[0]):
            reached = reached or state.achievements[i, k] > 0
        if not reached:
            return False
    return True


@lean_kernel
def outcome(state: Any, rules: Any) -> int:
    """GOING, WON (the goal is reached, even by one who died of it) or LOST."""
    if goal_reached(state, rules):
        return WON
    return LOST if all_over(state, rules) else GOING


@inner_kernel
def _note_before(state: Any, rewards: Any) -> None:
    """Minus what Crafter's reward counts: a tenth of the health, and one for each achievement reached so far."""
    for i in range(rewards.shape[0]):
        rewards[i] = -0.1 * state.inventory[i, HEALTH]
        for k in range(_ACHIEVEMENTS):
            if state.achievements[i, k]:
                rewards[i] -= 1.0


@inner_kernel
def _note_after(state: Any, rewards: Any) -> None:
    for i in range(rewards.shape[0]):
        rewards[i] += 0.1 * state.inventory[i, HEALTH]
        for k in range(_ACHIEVEMENTS):
            if state.achievements[i, k]:
                rewards[i] += 1.0


@lean_kernel
def step_in_place(state: Any, rules: Any, actions: Any, rewards: Any) -> int:
    """One joint step: `state` (`CrafterState`) changes in place under `rules` (`tables.Rules`).

    `actions` [N] int64 are primitives and are used up; `rewards` [N] float64 becomes Crafter's reward of each
    agent: one for each achievement that it reached for the first time, and a tenth of what its health changed by.
    Returns `outcome`.
    """
    _note_before(state, rewards)
    state.clock[STEP] += 1
    begin(state, actions)
    collect(state, rules, actions)
    craft(state, rules, actions)
    share(state, rules, actions)
    act_alone(state, rules, actions)
    live(state)
    update_mobs(state)
    if state.clock[STEP] % BALANCE_EVERY == 0:
        balance_chunks(state, rules)
    bury(state, rules)
    _look(state, rules)
    _note_after(state, rewards)
    return outcome(state, rules)
