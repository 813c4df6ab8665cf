"""What `make demo` plays: scripted teams on two levels, and a real local language model, under four topologies.

The two matrices are plain values; `emcoop run` makes the same ones from its flags.
"""

from __future__ import annotations

import sys
from pathlib import Path

from emcoop.cli.output import say
from emcoop.cli.reporting import show
from emcoop.cli.running import How, play_into
from emcoop.core.errors import MissingDependency
from emcoop.experiment.matrix import Matrix
from emcoop.models.pull import pull

FOUR = ("individual", "debate", "centralized", "decentralized")

SCRIPTED = Matrix(env="cube", level=("easy", "hard"), agents=3, topology=FOUR, agent="scripted", seeds="0-9")

LANGUAGE_MODEL = Matrix(
    env="cube",
    level="easy",
    agents=2,
    topology=FOUR,
    agent="llm",
    model="local:smollm2",
    seeds="0-1",
    set={"limits.max_tokens": 6000},
    options={"prompt": "short", "max_tokens": 192, "plan_actions": 2, "reasoning_chars": 80},
)
"""A token budget ends these episodes: the model is small and slow, and plays near the floor."""


def main(folder: Path) -> int:
    """Play both into `folder` and print the tables; without the model, the scripted teams alone."""
    matrices = [SCRIPTED]
    try:
        pull("smollm2", say)
        matrices.append(LANGUAGE_MODEL)
    except MissingDependency as error:
        say(f"without the language model ({str(error).splitlines()[0]}); the scripted teams play alone")
    errors: list[str] = []
    for matrix in matrices:
        errors += play_into(matrix.study(), matrix, folder, How(jobs=2))
    show(folder, json=False)
    for error in errors:
        say(f"failed: {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/demo")))
