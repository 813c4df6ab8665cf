"""The catalogue of events, and the page that states it."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from log_samples import HASH, SAMPLES, TEAM

from emcoop.log.events import CATALOGUE, Event, validate
from emcoop.log.export import blob_names
from emcoop.log.page import event_tables, with_tables
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore

PAGE = (Path(__file__).parents[2] / "docs" / "log.md").read_text(encoding="utf-8")


def event(kind: str, payload: object = None, agent: str | None = "agent_0") -> Event:
    value = SAMPLES[kind] if payload is None else payload
    return Event(0, 0, 0, None if kind in TEAM else agent, kind, value)  # type: ignore[arg-type]


def test_every_kind_has_a_sample() -> None:
    assert list(SAMPLES) != []
    assert set(SAMPLES) == set(CATALOGUE)


@pytest.mark.parametrize("kind", SAMPLES)
def test_well_formed_events_pass(kind: str) -> None:
    assert validate(event(kind)) == []


@pytest.mark.parametrize("kind", SAMPLES)
def test_unknown_missing_and_mistyped_fields_are_named(kind: str) -> None:
    sample = SAMPLES[kind]
    assert any("surprise" in line for line in validate(event(kind, {**sample, "surprise": 1})))
    for field in sample:
        if (kind, field) != ("step", "invalid"):
            rest = {name: value for name, value in sample.items() if name != field}
            assert any(field in line for line in validate(event(kind, rest))), field
        wrong = {**sample, field: {"not": ["what", "is", 1.5, "meant"]}}
        free = CATALOGUE[kind].model_fields.get(field)
        if free is None or str(free.annotation) != "dict[str, typing.Any]":
            assert any(field in line for line in validate(event(kind, wrong))), field


def test_an_unknown_kind_names_the_nearest() -> None:
    (line,) = validate(Event(3, 0, 0, None, "steps", {}))
    assert "did you mean 'step'" in line


def test_an_agent_belongs_to_agents_events_only() -> None:
    assert "names no agent" in validate(Event(0, 0, 0, None, "stage", SAMPLES["stage"]))[0]
    assert "must not name" in validate(Event(0, 0, 0, "agent_0", "episode_end", SAMPLES["episode_end"]))[0]


def test_lone_surrogates_in_a_message_are_no_mistake() -> None:
    assert validate(event("message_sent", {**SAMPLES["message_sent"], "content": "a\ud800"})) == []


def test_every_field_that_holds_a_blob_is_known_to_the_export() -> None:
    for kind, model in CATALOGUE.items():
        names_blob = any("blob" in (field.description or "") for field in model.model_fields.values())
        assert list(blob_names(kind, SAMPLES[kind])) == ([HASH] if names_blob else [])


def test_the_page_states_the_catalogue_as_it_is() -> None:
    assert with_tables(PAGE) == PAGE


def test_the_examples_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_and_read, by_hand = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(write_and_read, {})
    names: dict[str, Any] = {}
    exec(by_hand, names)
    path = tmp_path / "run" / "log.db"
    with sqlite3.connect(path) as db, LogReader.open(path) as reader:
        lines = list(names["event_lines"](db, 1))
        assert lines == [b'[0,0,0,"agent_0","stage",{"from":null,"to":"R"}]\n']
        assert hashlib.sha256(b"".join(lines)).hexdigest() == reader.digest(1)


def test_the_page_reads_chunks_of_every_codec_by_hand(tmp_path: Path) -> None:
    by_hand = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
    names: dict[str, Any] = {}
    exec(by_hand, names)
    with LogStore.open(tmp_path / "log.db") as store:
        writer = store.start(cell="c", seed=0, setup={})
        for i in range(1_500):
            writer.append("note", {"i": i, "text": f"{i * i} {i} " * (i % 40)}, cog_time=i, env_step=0, host={"i": i})
            if i == 0 or i % 20 == 19:
                writer.flush()
        writer.finish("finished", {})
    with sqlite3.connect(tmp_path / "log.db") as db, LogReader.open(tmp_path / "log.db") as reader:
        assert {min(codec, 2) for (codec,) in db.execute("SELECT codec FROM chunks")} == {0, 1, 2}
        lines = list(names["event_lines"](db, 1))
        assert len(lines) == 1_500
        assert hashlib.sha256(b"".join(lines)).hexdigest() == reader.digest(1) == reader.episode(1).digest


def test_every_kind_and_every_field_is_on_the_page() -> None:
    for kind, model in CATALOGUE.items():
        found = re.search(rf"^#### `{kind}`$(.*?)^(?=#)", PAGE, re.MULTILINE | re.DOTALL)
        assert found is not None, kind
        for name, field in model.model_fields.items():
            assert f"| `{field.alias or name}` |" in found[1], (kind, name)


def test_every_link_of_the_tables_leads_to_a_section() -> None:
    for target in set(re.findall(r"\]\(#(\w+)\)", event_tables())):
        assert f"\n#### {target}\n" in PAGE


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="marks"):
        with_tables("# nothing here")
