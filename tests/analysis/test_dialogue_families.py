"""Interventions of a dialogue world against their control: what the document says of a family of tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emcoop.analysis.dialogue import tell
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

SEEDS = range(8)


def play(store: LogStore, cell: str, interventions: list[str], weighted: float) -> None:
    """Finished episodes of a maze cell, all with the same weighted outcome."""
    setup: dict[str, Any] = {"env": "maze", "level": "easy", "agents": 2, "team": [{"agent": "noisy"}]}
    setup |= {"interventions": interventions, "control": "plain" if interventions else None}
    for seed in SEEDS:
        writer = store.start(cell=cell, seed=seed, setup=setup)
        writer.append("episode_start", {"env": {"name": "maze"}, "seed": seed}, cog_time=0, env_step=0)
        detail = {"cause": None, "weighted": weighted + seed, "turns": 4}
        score = {"success": False, "progress": 0.0, "detail": detail}
        end = {"score": score, "usage": {"output_tokens": 0}, "limit": "horizon"}
        writer.append("episode_end", end, cog_time=9, env_step=4)
        writer.finish("finished", {"score": score})


def test_differences_from_the_control_are_one_family_for_each_measure(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db") as store:
        play(store, "plain", [], 0.0)
        play(store, "better", ["primer:messages=4"], 0.5)
        play(store, "worse", ["primer:messages=2"], -0.5)
    with LogReader.open(tmp_path / "log.db") as reader:
        cells = [cell.to_json() for cell in tell(reader)]
    assert [bool(cell["against_control"]) for cell in cells] == [False, True, True]
    least = 2 / 2 ** len(SEEDS)
    for cell in cells[1:]:
        found = cell["against_control"]
        assert (found["weighted"]["p"], found["weighted"]["p_holm"]) == (least, 2 * least)
        assert (found["turns"]["p"], found["turns"]["p_holm"]) == (1.0, 1.0)
