"""Records and rows from fabricated episodes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from emcoop.analysis.cells import EpisodeRecord, names_of, read_records, split_of, split_references, summarise, to_json
from emcoop.analysis.table import exclusions
from emcoop.metrics import PAPER, metric_order

A, B = "agent_0", "agent_1"


@dataclass(frozen=True)
class Event:
    cog_time: int
    agent: str | None
    kind: str
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Episode:
    id: int
    cell: str
    seed: int
    status: str
    setup: Mapping[str, Any]
    outcome: Mapping[str, Any] | None


def setup(agent: str = "scripted", **parts: Any) -> dict[str, Any]:
    team = [{"agent": agent, "model": None, "options": {}}]
    return {"env": "cube", "level": "easy", "agents": 2, "topology": "individual", "team": team, **parts}


def record(cell: str = "c", seed: int = 0, status: str = "finished", **parts: Any) -> EpisodeRecord:
    values = parts.pop("metrics", {"success": 1.0, "progress": 1.0})
    limit = parts.pop("limit", "success" if status == "finished" else None)
    return EpisodeRecord(
        id=seed,
        cell=cell,
        setup=parts.pop("setup", setup()),
        seed=seed,
        status=status,
        limit=limit,
        score={},
        metrics=values,
        impossible=parts.pop("impossible", None),
        split=split_of(seed),
        **parts,
    )


@dataclass
class Log:
    """A reader over lists."""

    rows: list[Episode] = field(default_factory=list)
    logged: dict[int, list[Event]] = field(default_factory=dict)

    def episodes(self) -> list[Episode]:
        return self.rows

    def events(self, episode_id: int, kinds: Sequence[str] = ()) -> Iterator[Event]:
        return (event for event in self.logged[episode_id] if not kinds or event.kind in kinds)

    def add(self, status: str, seed: int, *events: Event, outcome: Mapping[str, Any] | None = None) -> None:
        number = len(self.rows) + 1
        self.rows.append(Episode(number, "c", seed, status, setup(), outcome))
        self.logged[number] = list(events)


def opening(impossible: str | None = None) -> Event:
    return Event(0, None, "episode_start", {"team": [{"agent": A}, {"agent": B}], "impossible": impossible})


def ending(limit: str, progress: float) -> Event:
    score = {"success": limit == "success", "progress": progress, "detail": {}}
    return Event(2_000_000, None, "episode_end", {"limit": limit, "score": score})


def test_a_finished_episode_is_measured_and_an_unfinished_one_is_only_counted() -> None:
    log = Log()
    said = Event(1, A, "message_sent", {"to": [B], "price": 0.0})
    log.add("finished", 5, opening(), said, ending("horizon", 0.25), outcome={"score": {"progress": 0.25}})
    log.add("failed", 9000, opening("block_2 is too heavy"), outcome={"error": "Stall: nobody moves"})
    log.add("running", 200)
    finished, failed, running = read_records(log)
    assert (finished.limit, finished.split, finished.impossible) == ("horizon", "dev", None)
    assert finished.score == {"progress": 0.25}
    assert set(finished.metrics) == set(metric_order())
    assert (finished.metrics["M6"], finished.metrics["progress"], finished.metrics["duration"]) == (1.0, 0.25, 2.0)
    assert (failed.metrics, failed.limit, failed.split) == ({}, None, "test")
    assert failed.impossible == "block_2 is too heavy"
    assert failed.error == "Stall: nobody moves"
    assert (running.status, running.impossible, running.split) == ("running", None, "other")


def test_the_reader_may_leave_out_what_no_metric_needs() -> None:
    asked: list[tuple[str, ...]] = []

    class Asking(Log):
        def events(self, episode_id: int, kinds: Sequence[str] = ()) -> Iterator[Event]:
            asked.append(tuple(kinds))
            return super().events(episode_id, kinds)

    log = Asking()
    log.add("finished", 0, opening(), Event(1, A, "model_call", {}), ending("success", 1.0))
    assert read_records(log)[0].metrics["success"] == 1.0
    assert "model_call" not in asked[0]
    assert "step" in asked[0]


@pytest.mark.parametrize(
    ("seed", "split"),
    [(0, "dev"), (99, "dev"), (100, "other"), (8999, "other"), (9000, "test"), (9099, "test"), (9100, "other")],
)
def test_seeds_have_official_splits(seed: int, split: str) -> None:
    assert split_of(seed) == split


def test_a_row_estimates_over_finished_episodes_and_counts_the_others() -> None:
    values = [(1.0, 1.0, 4.0), (0.0, 0.5, 2.0), (0.0, 0.0, None)]
    limits = ["success", "horizon", "horizon"]
    records = [
        record(seed=seed, limit=limit, metrics={"success": s, "progress": p, "M1": m})
        for seed, ((s, p, m), limit) in enumerate(zip(values, limits, strict=True))
    ]
    records += [record(seed=3, status="failed", error="Stall: x"), record(seed=4, status="running")]
    (row,) = summarise(records)
    assert (row.n, row.failed, row.unfinished, row.impossible) == (3, 1, 1, 0)
    assert row.success.mean == pytest.approx(1 / 3)
    # Wilson for 1 of 3.
    assert (row.success.low, row.success.high) == (pytest.approx(0.0615, abs=1e-4), pytest.approx(0.7923, abs=1e-4))
    assert (row.progress.mean, row.progress.n) == (0.5, 3)
    assert (row.metrics["M1"].mean, row.metrics["M1"].n) == (3.0, 2)
    assert (row.metrics["M2"].mean, row.metrics["M2"].n) == (None, 0)
    assert row.limits == {"horizon": 2, "success": 1}
    assert row.seeds == (0, 1, 2, 3, 4)
    assert (row.split, row.error) == ("dev", "Stall: x")
    assert tuple(row.metrics) == PAPER
    assert set(row.extras) == set(metric_order()) - set(PAPER) - {"success", "progress"}


def test_a_seed_that_was_played_again_counts_once() -> None:
    records = [
        record(seed=0, status="running"),
        record(seed=0, metrics={"success": 0.0, "progress": 0.5}),
        record(seed=0, status="failed", error="later"),
    ]
    (row,) = summarise(records)
    assert (row.n, row.failed, row.unfinished, row.progress.mean, row.seeds) == (1, 0, 0, 0.5, (0,))


def test_impossible_set_ups_are_counted() -> None:
    (row,) = summarise([record(seed=s, impossible="too heavy") for s in range(3)])
    assert (row.impossible, row.n) == (3, 3)


def test_a_cell_without_a_finished_episode_has_a_row_without_estimates() -> None:
    (row,) = summarise([record(status="failed", error="ConfigError: x")])
    assert (row.n, row.success.mean, row.progress.mean, row.limits) == (0, None, None, {})


def test_a_mixed_team_names_all_its_agents_and_models() -> None:
    team = [{"agent": "llm", "model": "local:a"}, {"agent": "scripted", "model": None}, {"agent": "llm", "model": "x"}]
    (row,) = summarise([record(setup=setup(team=team))])
    assert (row.agent, row.model) == ("llm+scripted", "local:a+x")


def test_splits_that_were_mixed_are_said() -> None:
    (row,) = summarise([record(seed=s) for s in (9001, 3, 500)])
    assert row.split == "dev+other+test"
    assert row.seeds == (3, 500, 9001)


def test_rows_come_in_one_order_whatever_the_order_of_the_log() -> None:
    records = [
        record(cell=f"{level}/{topology}/{agent}", setup=setup(agent, level=level, topology=topology))
        for level in ("hard", "easy", "medium")
        for topology in ("decentralized", "individual", "star")
        for agent in ("oracle", "scripted", "random")
    ]
    rows = summarise(records)
    assert rows == summarise(records[::-1])
    assert [row.level for row in rows[::9]] == ["easy", "medium", "hard"]
    assert [(row.topology, row.agent) for row in rows[:5]] == [
        ("individual", "scripted"),
        ("decentralized", "scripted"),
        ("star", "scripted"),
        ("individual", "random"),
        ("decentralized", "random"),
    ]
    assert [row.agent for row in rows[6:9]] == ["oracle"] * 3


def cell(name: str, agent: str, **parts: Any) -> EpisodeRecord:
    return record(cell=name, setup=setup(agent, **parts))


def test_floors_and_ceilings_are_references_for_others_of_the_same_task() -> None:
    rows = summarise(
        [cell("a", "scripted"), cell("b", "random"), cell("c", "oracle"), cell("d", "oracle", level="hard")]
    )
    own, references = split_references(rows)
    assert [row.cell for row in own] == ["a", "d"]
    assert [row.cell for row in references] == ["b", "c"]
    assert [row.role for row in references] == ["floor", "ceiling"]


def test_reference_policies_alone_are_rows_in_their_own_right() -> None:
    own, references = split_references(summarise([cell("b", "random"), cell("c", "oracle")]))
    assert [row.cell for row in own] == ["b", "c"]
    assert references == []


def test_the_json_has_an_entry_per_cell_with_every_metric_and_interval() -> None:
    values = dict.fromkeys(metric_order(), 1.0)
    records = [record(seed=s, metrics=values) for s in (0, 1, 2)] + [
        record(cell="r", setup=setup("random"), metrics=values)
    ]
    data = json.loads(json.dumps(to_json(summarise(records)), allow_nan=False))
    (row,) = data["rows"]
    assert row["n"] == 3
    assert list(row["metrics"]) == list(PAPER)
    assert row["metrics"]["M7"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 3}
    assert row["success"]["mean"] == 1.0
    assert row["success"]["low"] == pytest.approx(0.4385, abs=1e-4)
    assert row["extras"]["cost_usd"]["mean"] == 1.0
    assert [reference["agent"] for reference in data["references"]] == ["random"]


def test_cells_that_differ_in_an_option_only_are_told_apart() -> None:
    rows = summarise([cell("abcdef00", "scripted"), cell("123456ff", "scripted", step_s=1.0), cell("x", "greedy")])
    assert set(names_of(rows).values()) == {
        "individual scripted #abcdef",
        "individual scripted #123456",
        "individual greedy",
    }


def test_arms_of_several_teams_are_told_apart_by_the_team_that_each_is_for() -> None:
    teams = [cell("a" * 16, "scripted", topology="debate"), cell("b" * 16, "scripted", topology="centralized")]
    arms = [cell(name * 16, "scripted", interventions=["solo"], control=of * 16) for name, of in ("ca", "db", "ex")]
    named = names_of(summarise([*teams, *arms]))
    assert named["c" * 16] == "individual scripted +solo (for debate scripted)"
    assert named["d" * 16] == "individual scripted +solo (for centralized scripted)"
    assert named["e" * 16] == "individual scripted +solo #eeeeee"  # its team was not played
    (alone,) = names_of(summarise([arms[0]])).values()
    assert alone == "individual scripted +solo"


def test_interventions_are_part_of_a_cells_name_and_make_no_reference() -> None:
    rows = summarise(
        [
            cell("a", "scripted"),
            cell("b", "scripted", interventions=["mute"]),
            cell("c", "oracle", interventions=["mute"]),
        ]
    )
    own, references = split_references(rows)
    assert references == []
    assert [names_of(rows)[row.cell] for row in own] == [
        "individual scripted",
        "individual scripted +mute",
        "individual oracle +mute",
    ]
    assert to_json(rows)["rows"][1]["interventions"] == ["mute"]


def test_a_cell_that_two_versions_played_says_so() -> None:
    records = [record(seed=seed, version=f"emcoop 1, cube {seed}") for seed in (0, 1)]
    records.append(record(seed=2, status="failed", version="emcoop 1, cube 3"))  # in no estimate
    (mixed,) = summarise(records)
    assert mixed.versions == ("emcoop 1, cube 0", "emcoop 1, cube 1")
    assert "played by different versions" in exclusions(mixed)
    assert "emcoop 1, cube 0; emcoop 1, cube 1" in exclusions(mixed)
    (plain,) = summarise(records[:1])
    assert exclusions(plain) == ""
