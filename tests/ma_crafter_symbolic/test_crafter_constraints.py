"""Tasks and constraints of MA-Crafter: against a full scan of the map, and against what the engine takes."""

from pathlib import Path

import pytest
from crafter_kit import draw, quiet, random_joint
from hypothesis import given, settings
from hypothesis import strategies as st

from emcoop.core.seeds import Stream
from emcoop.core.types import Constraint, TaskConstraints
from emcoop.envs.ma_crafter.collect import part_of
from emcoop.envs.ma_crafter.constants import (
    COL,
    COLLECT,
    DEAD,
    ENERGY,
    ITEMS,
    KIND,
    MATERIALS,
    MOB_COL,
    MOB_ID,
    MOB_ROW,
    MOBS,
    RESOURCES,
    ROW,
    SLEEPING,
    VITALS,
)
from emcoop.envs.ma_crafter.env import MACrafter, make
from emcoop.envs.ma_crafter.state import CrafterState

HARD = quiet(3, level="hard")
EVERYBODY = frozenset(HARD.agents)
SPATIAL, TEMPORAL, DEPENDENCY, PARTICIPATION = (
    Constraint.SPATIAL,
    Constraint.TEMPORAL,
    Constraint.DEPENDENCY,
    Constraint.PARTICIPATION,
)


def every_task(env: MACrafter, state: CrafterState) -> dict[str, tuple[int, int]]:
    """Every open task and its cell, by looking at every cell and every mob."""
    found = {}
    rows, cols = state.shape
    for r in range(rows):
        for c in range(cols):
            name = MATERIALS[state.material[r, c]]
            if state.ids[r, c] and state.occupant[r, c] >= 0 and name in RESOURCES and name != "grass":
                found[f"{name}_{state.ids[r, c]}"] = (r, c)
    for mob in state.mobs.tolist():
        if MOBS[mob[KIND]] in ("cow", "plant") and mob[MOB_ID]:
            found[f"{MOBS[mob[KIND]]}_{mob[MOB_ID]}"] = (mob[MOB_ROW], mob[MOB_COL])
    return found


def judged(
    env: MACrafter, state: CrafterState, joint: dict[str, int], task: str, cell: tuple[int, int]
) -> TaskConstraints:
    """The definition, one agent at a time, from the level itself."""
    resource = task.partition("_")[0]
    tool, reach = env.layout.tool(resource), env.layout.cooperative_collection.distance_threshold
    spatial, temporal, dependency = set(), set(), set()
    for i, name in enumerate(env.agents):
        body = state.agents[i]
        if body[DEAD]:
            continue
        if abs(body[ROW] - cell[0]) + abs(body[COL] - cell[1]) <= reach:
            spatial.add(name)
        if tool is None or state.inventory[i, ITEMS.index(tool)] > 0:
            dependency.add(name)
        acts = not (body[SLEEPING] and state.inventory[i, ENERGY] < 9)
        part = part_of(state, env.tables, i, joint[name])
        if acts and part[1] == cell[0] * state.shape[1] + cell[1] and RESOURCES[part[0]] == resource:
            temporal.add(name)
    sets = {SPATIAL: frozenset(spatial), TEMPORAL: frozenset(temporal), DEPENDENCY: frozenset(dependency)}
    sets[PARTICIPATION] = frozenset(spatial & temporal & dependency)
    return TaskConstraints(env.layout.required(resource), sets, attempting=frozenset(temporal))


def played(env: MACrafter, seed: int, steps: int) -> list[tuple[CrafterState, dict[str, int], CrafterState]]:
    stream, state, found = Stream.named(seed, "test"), env.reset(seed), []
    for i in range(len(env.agents)):
        # Some have tools, so that the harder resources are taken too.
        for tool in ("wood_pickaxe", "stone_pickaxe", "iron_pickaxe"):
            state.inventory[i, ITEMS.index(tool)] = stream.below(2)
    for _ in range(steps):
        joint = random_joint(env, stream)
        after = env.step(state, joint).state
        found.append((state, joint, after))
        state = after
    return found


@pytest.mark.parametrize(("agents", "level"), [(1, "easy"), (3, "hard-scaled"), (5, "medium")])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_bookkeeping_equals_a_full_scan_at_any_moment(agents: int, level: str, seed: int) -> None:
    env = make(agents, level, on_death="continue", size=24, goal=("collect_drink",))
    for state, joint, _ in played(env, seed, 25):
        tasks = every_task(env, state)
        assert set(env.tasks(state)) == set(tasks)
        named = frozenset(list(tasks)[:: max(1, len(tasks) // 3)])
        listed = env.constraints(state, joint, named)
        scan = {task: judged(env, state, joint, task, cell) for task, cell in tasks.items()}
        assert {task: scan[task] for task in listed} == dict(listed)
        for task, constraints in scan.items():
            if constraints.satisfied[SPATIAL] or constraints.attempting or task in named:
                assert task in listed


def arena(env: MACrafter, stream: Stream) -> CrafterState:
    """Three agents with random tools in a small random wood with rocks and ore."""
    cells = [list("".join(stream.choice(".TT##c") for _ in range(4))) for _ in range(4)]
    places = [(r, c) for r in range(4) for c in range(4)]
    stream.shuffle(places)
    for i, (r, c) in enumerate(places[:3]):
        cells[r][c] = str(i)
    bags = {i: {"wood_pickaxe": stream.below(2), "wood": 8 * (stream.below(4) == 0)} for i in range(3)}
    return draw(env, *map("".join, cells), bags=bags)


ROOM = 8
PAIRS = f"""
cooperative_collection:
  resources:
    tree: {{required_agents: 1}}
    stone: {{required_agents: 2, required_tool: wood_pickaxe}}
    coal: {{required_agents: 2, required_tool: wood_pickaxe}}
bag: {{capacity: {ROOM}}}
"""
"""One agent takes a tree, two take stone or coal."""


def test_the_engine_takes_ground_exactly_when_enough_participate_and_one_has_room(tmp_path: Path) -> None:
    level = tmp_path / "pairs.yaml"
    level.write_text(PAIRS)
    env = quiet(3, level=str(level))
    stream, taken, refused = Stream.named(3, "arenas"), 0, 0
    for _ in range(300):
        state = arena(env, stream)
        joint = {agent: COLLECT + stream.below(3) for agent in env.agents}
        if stream.below(2):
            joint = dict.fromkeys(env.agents, joint["agent_0"])
        cells, after = every_task(env, state), env.step(state, joint).state
        for task, constraints in env.constraints(state, joint).items():
            together = [env.agents.index(agent) for agent in constraints.satisfied[PARTICIPATION]]
            gone = after.material[cells[task]] != state.material[cells[task]]
            room = any(int(state.inventory[i, VITALS:].sum()) < ROOM for i in together)
            assert gone == (len(together) >= constraints.required and room), task
            assert all(after.result[i, 1] == len(together) for i in together)
            taken, refused = taken + int(gone), refused + (bool(together) and not gone)
    assert taken > 100
    assert refused > 30


def test_a_worked_example_near_without_tool_far_with_tool_and_acting() -> None:
    state = draw(HARD, "..0..", ".1#..", "....2", bags={0: {"wood_pickaxe": 1}, 2: {"wood_pickaxe": 1}})
    collect_stone = COLLECT + RESOURCES.index("stone")
    joint = {"agent_0": collect_stone, "agent_1": collect_stone, "agent_2": collect_stone}
    (task,) = HARD.tasks(state)
    found = HARD.constraints(state, joint)[task]
    assert found.required == 3
    assert found.satisfied[SPATIAL] == {"agent_0", "agent_1"}
    assert found.satisfied[TEMPORAL] == found.attempting == {"agent_0", "agent_1"}
    assert found.satisfied[DEPENDENCY] == {"agent_0", "agent_2"}
    assert found.satisfied[PARTICIPATION] == {"agent_0"}
    assert not found.holds(PARTICIPATION)


def test_one_collect_names_the_nearest_and_ties_go_to_the_smaller_cell() -> None:
    state = draw(HARD, ".T.", "T0T", "12.")
    idle = dict.fromkeys(HARD.agents, 0)
    found = HARD.constraints(state, idle | {"agent_0": COLLECT})
    acted = [task for task, constraints in found.items() if constraints.attempting]
    assert len(acted) == 1
    assert every_task(HARD, state)[acted[0]] == (0, 1)


def test_a_task_out_of_everybodys_reach_is_listed_only_when_named() -> None:
    state = draw(HARD, "0...T", "1....", "2....")
    idle = dict.fromkeys(HARD.agents, 0)
    (task,) = HARD.tasks(state)
    assert HARD.constraints(state, idle) == {}
    named = HARD.constraints(state, idle, frozenset([task, "tree_99", "make_wood_pickaxe", "none", "cow_1"]))
    assert set(named) == {task}
    assert not named[task].satisfied[SPATIAL]


def test_the_dead_satisfy_nothing_and_sleepers_do_not_act() -> None:
    state = draw(HARD, ".0.", "1T2", "...")
    state.agents[0, DEAD] = 1
    state.occupant[0, 1] = 0
    state.agents[1, SLEEPING], state.inventory[1, ENERGY] = 1, 4
    found = HARD.constraints(state, dict.fromkeys(HARD.agents, COLLECT))
    (constraints,) = found.values()
    assert constraints.satisfied[SPATIAL] == {"agent_1", "agent_2"}
    assert constraints.satisfied[TEMPORAL] == constraints.satisfied[PARTICIPATION] == {"agent_2"}
    assert constraints.satisfied[DEPENDENCY] == EVERYBODY - {"agent_0"}
