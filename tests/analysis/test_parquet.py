"""A log as Parquet, read back by DuckDB with the queries that docs/analyses.md shows."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from emcoop.analysis.parquet import export_parquet
from emcoop.core.errors import ConfigError
from emcoop.experiment.matrix import Matrix
from emcoop.experiment.study import log_path, play
from emcoop.log.reader import LogReader

duckdb = pytest.importorskip("duckdb")
PAGE = Path(__file__).parents[2] / "docs" / "analyses.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("run")
    matrix = Matrix(env="cube", topology=("debate", "centralized"), intervention=("none", "silence"), seeds="0-2")
    asyncio.run(play(matrix.study(), run))
    with LogReader.open(log_path(run)) as reader:
        export_parquet(reader, run / "parquet")
    return run / "parquet"


def test_every_episode_and_event_is_there_with_its_types(folder: Path) -> None:
    with LogReader.open(log_path(folder.parent)) as reader:
        rows = reader.episodes()
        events = sum(reader.count(row.id) for row in rows)
    with duckdb.connect() as db:
        assert db.sql(f"SELECT count(*) FROM '{folder}/episodes.parquet'").fetchall() == [(len(rows),)]
        assert db.sql(f"SELECT count(*) FROM '{folder}/events.parquet'").fetchall() == [(events,)]
        found = db.sql(
            f"SELECT topology, interventions, avg(M6) FROM '{folder}/episodes.parquet' "
            "WHERE agent = 'scripted' GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert [(topology, names) for topology, names, _ in found] == [
        ("centralized", []),
        ("centralized", ["silence"]),
        ("debate", []),
        ("debate", ["silence"]),
    ]
    assert [messages == 0 for _, _, messages in found] == [False, True, False, True]


def test_the_queries_in_the_documentation_run(folder: Path) -> None:
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(queries) == 3
    with duckdb.connect() as db:
        for query in queries:
            assert db.sql(query.replace("'parquet/", f"'{folder}/")).fetchall()


def test_polars_reads_the_same(folder: Path) -> None:
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(folder / "episodes.parquet")["seed"].max() == 2


def test_a_folder_that_cannot_be_made_is_said(folder: Path) -> None:
    with (
        LogReader.open(log_path(folder.parent)) as reader,
        pytest.raises(ConfigError, match="cannot be written"),
    ):
        export_parquet(reader, folder / "episodes.parquet" / "inside")
