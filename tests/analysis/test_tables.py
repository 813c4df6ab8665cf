"""What the tables show, rendered as text at 80 and 100 columns."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from emcoop.analysis.cells import EpisodeRecord, Row, split_of, summarise
from emcoop.analysis.stats import Estimate
from emcoop.analysis.table import metric_tables, outcome_table, spent
from emcoop.analysis.words import interval, limits, number, printable, ranges
from emcoop.metrics import PAPER, metric_order


def episode(
    topology: str, agent: str, seed: int, *, status: str = "finished", model: str | None = None
) -> EpisodeRecord:
    values = dict.fromkeys(metric_order(), 0.25 + 0.1 * seed)
    values |= {"success": float(seed > 0), "steps": 30.0, "input_tokens": 12_000.0, "output_tokens": 345.0}
    if seed == 0:
        values["M13"] = None
    return EpisodeRecord(
        id=seed,
        cell=f"{topology}/{agent}",
        setup={
            "env": "cube",
            "level": "easy",
            "agents": 3,
            "topology": topology,
            "team": [{"agent": agent, "model": model}],
        },
        seed=seed,
        status=status,
        limit=("success" if seed else "horizon") if status == "finished" else None,
        score={},
        metrics=values if status == "finished" else {},
        impossible=None,
        split=split_of(seed),
        error="Stall: [red]nobody\x1b[31m moves[/red]" if status == "failed" else None,
    )


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    topologies = ("individual", "debate", "centralized", "decentralized")
    records = [episode(t, "llm", s, model="local:smollm2") for t in topologies for s in range(4)]
    records += [episode("individual", agent, s) for agent in ("random", "noop", "oracle") for s in range(4)]
    records += [episode("debate", "llm", s, status="failed", model="local:smollm2") for s in (4, 5)]
    return summarise(records)


def render(table: RenderableType, width: int) -> str:
    console = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_the_outcome_table_fits_and_shows_success_with_its_interval(rows: list[Row], width: int) -> None:
    text = render(outcome_table(rows), width)
    assert max(map(len, text.splitlines())) <= width
    # 3 of 4 and its Wilson interval.
    assert "0.75" in text
    assert "[0.30, 0.95]" in text
    assert "12.3k" in text
    assert "3 success" in text
    assert "llm local:smollm2" in text


def test_floors_and_ceilings_stand_below_the_teams(rows: list[Row]) -> None:
    text = render(outcome_table(rows), 80)
    places = [text.index(name) for name in ("decentralized", "floor: random", "floor: noop", "ceiling: oracle")]
    assert places == sorted(places)


def test_what_was_left_out_is_said_and_cannot_steer_the_terminal(rows: list[Row]) -> None:
    text = render(outcome_table(rows), 100)
    assert "debate llm local:smollm2: 2 failed and left out (Stall: [red]nobody" in text
    assert "\x1b" not in text
    assert "seeds 0-5 (dev)" in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_metric_tables_show_every_metric_of_every_cell_within_the_width(rows: list[Row], width: int) -> None:
    text = render(metric_tables(rows, width=width), width)
    assert max(map(len, text.splitlines())) <= width
    tables = text.count("M1 decision")
    # Seven cells: four to a table at 80 columns, so that the four topologies stand side by side.
    assert tables == 2
    for name in PAPER:
        assert text.count(f"\n {name} ") == tables
    assert text.count("n = 4") == 7


def test_the_metric_tables_show_intervals_and_the_n_of_a_metric_that_was_not_always_defined(rows: list[Row]) -> None:
    text = render(metric_tables(rows[:4], ["M1", "M13"], width=100), 100)
    # M1 is 0.25, 0.35, 0.45, 0.55 in the four seeds; M13 is missing in the first.
    assert text.count("0.40") == 4
    assert text.count("0.45 n=3") == 4
    assert "random" not in text
    assert "[0." in text


def test_extras_can_be_shown_as_well(rows: list[Row]) -> None:
    text = render(metric_tables(rows, ["steps", "cost_usd"]), 80)
    assert "environment steps" in text
    assert "cost (USD)" in text


def test_what_all_episodes_used_is_told_with_those_of_unknown_price() -> None:
    def costing(calls: float, *usd: float | None) -> list[Row]:
        records = [episode("debate", "llm", seed) for seed in range(len(usd))]
        used = [{**r.metrics, "model_calls": calls, "cost_usd": u} for r, u in zip(records, usd, strict=True)]
        return summarise(replace(r, metrics=m) for r, m in zip(records, used, strict=True))

    told = "40 model calls, 48,000 tokens in, 1,380 out, $1.25 and episodes of unknown price (1)"
    assert spent(costing(10.0, 1.0, 0.25, None, 0.0)) == told
    assert spent(costing(0.0, 0.0, 0.0)) == "no language model was called"
    assert spent(costing(0.0, 0.5)).endswith("$0.50")  # of messages that cost money


def test_no_rows_give_an_empty_page() -> None:
    assert render(outcome_table([]), 80).strip() == ""
    assert render(metric_tables([]), 80).strip() == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.004, "4e-03"),
        (0.005, "0.01"),
        (0.424, "0.42"),
        (-0.5, "-0.50"),
        (9.994, "9.99"),
        (9.995, "10.0"),
        (99.94, "99.9"),
        (99.95, "100"),
        (9999.0, "9999"),
        (9999.6, "10.0k"),
        (54_800.0, "54.8k"),
        (999_499.0, "999k"),
        (999_500.0, "1.0M"),
        (2.5e12, "2.5e+12"),
    ],
)
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert number(value) == text


def test_an_interval_needs_both_ends() -> None:
    assert interval(Estimate(0.5, 0.25, 1.0, 4)) == "[0.25, 1.00]"
    assert interval(Estimate(0.5, None, None, 1)) == ""


def test_limits_come_most_frequent_first() -> None:
    assert limits({"horizon": 1, "token_budget": 3, "failure": 1}) == "3 token budget\n1 failure\n1 horizon"
    assert limits({}) == "-"


def test_seeds_are_written_as_ranges() -> None:
    assert ranges([3, 0, 1, 2, 9000, 7, 9001]) == "0-3, 7, 9000-9001"
    assert ranges([]) == "-"


def test_control_characters_are_replaced() -> None:
    assert printable("a\x1b[31m\nb\u202ec é") == "a�[31m�b�c é"
