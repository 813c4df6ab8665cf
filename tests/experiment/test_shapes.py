"""The shapes of the paper's figure 3 in scripted teams: what each topology is known for stands out."""

from __future__ import annotations

import pytest
from tests.interventions.played import played, team

from emcoop.analysis.cells import EpisodeRecord
from emcoop.analysis.contrasts import contrast

FOUR = ("individual", "debate", "centralized", "decentralized")
CELLS = {topology: team(topology=topology) for topology in FOUR}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[EpisodeRecord]:
    return played(tmp_path_factory.mktemp("shapes"), tuple(CELLS.values()), range(9000, 9012))


def of(records: list[EpisodeRecord], topology: str, metric: str) -> dict[int, float]:
    return {r.seed: r.metrics[metric] or 0.0 for r in records if r.cell == CELLS[topology].cell}


@pytest.mark.parametrize(
    ("metric", "most", "others"),
    [
        ("M13", "centralized", ("debate", "decentralized")),  # a leader makes plans coherent
        ("M6", "decentralized", ("individual", "debate", "centralized")),  # everybody talks to everybody
        ("M10", "decentralized", ("individual",)),  # without messages no plan is interrupted
        ("M1", "debate", ("individual",)),  # and least is decided
        ("M1", "centralized", ("individual",)),
        ("M1", "decentralized", ("individual",)),
    ],
)
def test_a_topology_has_more_of_what_it_is_known_for(
    records: list[EpisodeRecord], metric: str, most: str, others: tuple[str, ...]
) -> None:
    for other in others:
        difference = contrast(of(records, most, metric), of(records, other, metric)).difference
        assert difference.low is not None
        assert difference.low > 0, other


def test_nobody_is_interrupted_where_nobody_talks(records: list[EpisodeRecord]) -> None:
    assert set(of(records, "individual", "M10").values()) == {0.0}
