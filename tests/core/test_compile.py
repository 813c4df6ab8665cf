"""Kernels give the same results however they are run, and nobody waits for the compiler in vain."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emcoop.core.compile import COMPILED, plain
from emcoop.envs.cube import env as cube
from emcoop.envs.cube import rules as cube_rules
from emcoop.envs.ma_crafter import env as crafter
from emcoop.envs.ma_crafter import rules as crafter_rules

DOUBLES = """
from emcoop.core.compile import inner_kernel

FACTOR = 2

@inner_kernel
def scaled(x):
    return FACTOR * x

@inner_kernel
def twice(x):
    return scaled(x)
"""

SUMS = """
from doubles import twice
from emcoop.core.compile import kernel

@kernel
def sum_of_doubles(numbers):
    total = 0
    for k in range(numbers.shape[0]):
        total += twice(numbers[k])
    return total
"""

MAIN = """
import sys, numpy as np
import emcoop.core.compile as compile
compile.AT_ONCE, compile.PATIENCE = float(sys.argv[1]), float(sys.argv[2])
from sums import sum_of_doubles
if sys.argv[3:]:
    compile.load_at_once()
for _ in range(3):
    total = sum_of_doubles(np.arange(4))
print(total, type(total).__name__, "numba" in sys.modules and len(sum_of_doubles.compiled.signatures))
"""

pytestmark = pytest.mark.skipif(not COMPILED, reason="compiling is switched off")


def test_a_kernel_is_compiled_once_it_was_run_long_enough_and_later_runs_find_it(tmp_path: Path) -> None:
    (tmp_path / "doubles.py").write_text(DOUBLES)
    (tmp_path / "sums.py").write_text(SUMS)

    def run(at_once: float, patience: float, *more: str) -> str:
        command = [sys.executable, "-c", MAIN, str(at_once), str(patience), *more]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    assert run(at_once=100, patience=200) == "12 int False"
    assert run(at_once=0, patience=100) == "12 int 0"
    assert run(at_once=0, patience=1e-9) == "12 int 1"
    assert run(at_once=0, patience=100) == "12 int 1"
    assert run(100, 200, "a long run begins") == "12 int 1"
    # What was compiled of a function is not used after a change of another that it calls, or of a constant.
    (tmp_path / "doubles.py").write_text(DOUBLES.replace("FACTOR = 2", "FACTOR = 3"))
    assert run(at_once=0, patience=100) == "18 int 0"
    assert run(at_once=0, patience=1e-9) == "18 int 1"
    (tmp_path / "doubles.py").write_text(DOUBLES.replace("FACTOR * x", "FACTOR + x"))
    assert run(at_once=0, patience=1e-9) == "14 int 1"
    assert run(at_once=0, patience=100) == "14 int 1"


@pytest.mark.parametrize("switch", [{"EMCOOP_COMPILE": "0"}, {"NUMBA_DISABLE_JIT": "1"}])
def test_either_switch_turns_the_compiler_off(tmp_path: Path, switch: dict[str, str]) -> None:
    (tmp_path / "doubles.py").write_text(DOUBLES)
    (tmp_path / "sums.py").write_text(SUMS)
    command = [sys.executable, "-c", MAIN, "0", "0", "a long run begins"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **switch})
    assert done.returncode == 0, done.stderr
    assert (done.stdout.split()[0], done.stdout.split()[-1]) == ("12", "False")


def cube_play(step: Any) -> list[bytes]:
    """What `step` makes of random joint actions on copies of one state."""
    env, rng, shown = cube.make(6, "curriculum"), np.random.default_rng(0), []
    state = env.reset(3)
    arrays = [a.copy() for a in (state.grid, state.agents, state.blocks, state.alive, state.last)]
    for _ in range(150):
        actions = np.where(rng.random(6) < 0.6, rng.integers(1, 5), rng.integers(0, 5, 6))
        weight = step(*arrays, actions)
        shown.append(b"".join(a.tobytes() for a in arrays) + bytes([int(weight)]))
    return shown


def crafter_play(step: Any) -> list[bytes]:
    env, rng, shown = crafter.make(3, "hard", on_death="respawn"), np.random.default_rng(0), []
    state, rewards = env.reset(3).copy(), np.zeros(3)
    for k in range(400):
        actions = rng.integers(0, len(env.primitives) if k % 4 == 0 else 26, 3)
        with np.errstate(over="ignore"):
            outcome = step(state, env.tables, actions, rewards)
        shown.append(b"".join(a.tobytes() for a in state) + rewards.tobytes() + bytes([int(outcome)]))
    return shown


@pytest.mark.parametrize(
    ("play", "kernel"),
    [(cube_play, cube_rules.step_in_place), (crafter_play, crafter_rules.step_in_place)],
    ids=["cube", "ma-crafter"],
)
def test_rules_do_the_same_compiled_and_as_plain_python(play: Any, kernel: Any) -> None:
    shown = play(kernel.compiled)
    assert shown == play(plain(kernel.py_func))
    assert len(set(shown)) > 100
