"""What the server answers, and what it refuses."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
from pathlib import Path

import pytest
from viewer_kit import PATIENCE_S, Served, remade

from emcoop.core.errors import ConfigError, LogError
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.viewer import frames, pages
from emcoop.viewer.export import export
from emcoop.viewer.server import is_loopback, listen


def test_the_index_has_cells_with_intervals_and_references_apart(served: Served) -> None:
    found = served.json("api/run")
    assert [(cell["topology"], cell["n"]) for cell in found["cells"]] == [("centralized", 2), ("decentralized", 2)]
    assert {cell["role"] for cell in found["references"]} == {"floor", "ceiling"}
    assert found["cells"][0]["success"]["low"] < found["cells"][0]["success"]["mean"]
    assert [episode["id"] for episode in found["episodes"]][:4] == [1, 2, 3, 4]


def test_pages_of_events_join_to_the_whole_episode(served: Served, run_log: Path) -> None:
    start, found = 0, []
    while start is not None:
        page = served.json(f"api/episodes/1/events?start={start}&size=37")
        assert len(page["events"]) <= 37
        found += page["events"]
        start = page["next"]
    with LogReader.open(run_log) as reader:
        assert [event[0] for event in found] == [event.seq for event in reader.events(1)]


def test_a_page_ends_when_it_is_long_in_bytes(run_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_BYTES", 3_000)
    page = pages.page(run_log, 1)
    size = sum(len(json.dumps(event[5])) for event in page["events"][:-1])
    assert page["next"] == page["events"][-1][0] + 1
    assert size <= 3_000


@pytest.mark.parametrize("step", [1, 7, 20])
def test_seeking_a_step_finds_the_event_that_completes_it(run_log: Path, step: int) -> None:
    seq = pages.seek(run_log, 1, step=step)
    with LogReader.open(run_log) as reader:
        events = list(reader.events(1))
    assert events[seq].env_step == step
    assert events[seq - 1].env_step == step - 1


def test_seeking_a_time_finds_the_first_event_at_or_after_it(run_log: Path) -> None:
    with LogReader.open(run_log) as reader:
        events = list(reader.events(1))
    for time in (0, 1, events[40].cog_time, events[40].cog_time + 1, events[-1].cog_time + 5):
        expected = next((event.seq for event in events if event.cog_time >= time), events[-1].seq)
        assert pages.seek(run_log, 1, time=time) == expected


def test_what_reaches_into_a_page_is_each_agents_stage_and_open_plan(run_log: Path) -> None:
    start = pages.seek(run_log, 1, step=3)
    carried = pages.before(run_log, 1, start)["events"]
    with LogReader.open(run_log) as reader:
        earlier = [event for event in reader.events(1) if event.seq < start]
    for agent in ("agent_0", "agent_1", "agent_2"):
        stage = [event.seq for event in earlier if event.kind == "stage" and event.agent == agent][-1]
        plan = [event.seq for event in earlier if event.kind == "plan_committed" and event.agent == agent][-1]
        assert {stage, plan} <= {event[0] for event in carried}


def test_a_frame_is_the_environments_drawing_of_that_step(served: Served) -> None:
    status, headers, body = served.fetch("api/episodes/1/frames/5")
    assert status == 200
    assert headers["content-type"].startswith("image/svg+xml")
    assert b"step 5," in body
    status, _, body = served.fetch("api/episodes/1/frames/4000")
    assert (status, json.loads(body)["error"].endswith("episode 1 has no step 4000")) == (404, True)


def test_frames_whose_state_is_not_kept_are_played_on_from_one_that_is(run_log: Path, tmp_path: Path) -> None:
    def forget(event):  # type: ignore[no-untyped-def]
        payload = dict(event.payload)
        if event.kind == "step" and event.env_step % 4:
            payload["snapshot"] = None
        return [(event.kind, payload)]

    with Served(remade(run_log, tmp_path / "log.db", forget)) as thin, Served(run_log) as full:
        for step in (1, 6, 8, 11):
            assert thin.fetch(f"api/episodes/1/frames/{step}")[2] == full.fetch(f"api/episodes/1/frames/{step}")[2]


def test_a_state_that_is_damaged_is_an_error_that_names_the_step(run_log: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    with LogReader.open(run_log) as reader:
        row, start = reader.episode(1), next(reader.events(1))
    with LogStore.open(log) as store:
        for seed, payload in enumerate(({**start.payload}, {"env": {}}, {**start.payload, "snapshot": None})):
            writer = store.start(cell=row.cell, seed=seed, setup=row.setup)
            if seed == 0:
                payload["snapshot"] = writer.blob(b"no state")
            writer.append("episode_start", payload, cog_time=0, env_step=0)
    for number, said in ((1, "step 0 is damaged"), (2, "sound episode_start"), (3, "keeps no state at step 0")):
        with pytest.raises(LogError, match=said):
            frames.frame(log, number, 0)
    assert "No pictures" in _pictures_of(log, tmp_path / "out.html")


def _pictures_of(log: Path, target: Path) -> str:
    """What an exported file says in place of the first episode's pictures."""
    export(log, target)
    block = re.search(r'id="block-e1">([^<]*)<', target.read_text("ascii"))
    assert block is not None
    return str(json.loads(gzip.decompress(base64.b64decode(block.group(1))))["frames"])


def test_search_finds_messages_in_any_case_and_names_the_place(served: Served, run_log: Path) -> None:
    hits = served.json("api/episodes/1/search?text=assign")["hits"]
    with LogReader.open(run_log) as reader:
        said = [e.seq for e in reader.events(1, kinds=("message_sent",)) if "assign" in e.payload["content"].lower()]
    assert said
    assert set(said) <= {hit[0] for hit in hits}


def test_blobs_are_plain_text_and_missing_ones_are_named(served: Served) -> None:
    view = next(e for e in served.json("api/episodes/1/events")["events"] if e[4] == "decision")[5]["view"]
    status, headers, body = served.fetch(f"api/blob/{view}")
    assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert json.loads(body)["agent"] == "agent_0"
    status, _, body = served.fetch(f"api/blob/{'ab' * 32}")
    assert status == 404
    assert "does not keep the blob" in json.loads(body)["error"]


@pytest.mark.parametrize("path", ["events?start=-1", "events?start=x", f"events?start={1 << 60}", "seek?step=1.5"])
def test_parameters_that_are_no_numbers_are_refused(served: Served, path: str) -> None:
    assert served.fetch(f"api/episodes/1/{path}")[0] == 400


def test_every_answer_has_a_strict_policy(served: Served) -> None:
    for path in ("", "static/main.js", "api/run", "api/episodes/1/frames/0", "api/nothing"):
        _, headers, _ = served.fetch(path)
        assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_request_under_a_foreign_name_is_refused_on_loopback(served: Served) -> None:
    assert served.fetch("api/run", Host="rebound.example:7700")[0] == 403
    assert served.fetch("api/run", Host="localhost:7700")[0] == 200


def test_with_a_token_nothing_is_served_without_it(run_log: Path) -> None:
    with Served(run_log, token="s3cret") as server:
        assert server.fetch("api/run", Host="lab.example")[0] == 200
        server.url = server.url.removesuffix("s3cret/")
        assert [server.fetch(path)[0] for path in ("", "api/run", "static/main.js")] == [404, 404, 404]


@pytest.mark.parametrize("path", ["jsconfig.json", "types.d.ts", "static/jsconfig.json", "static/%2e%2e/types.d.ts"])
def test_the_type_checkers_files_are_not_served(served: Served, path: str) -> None:
    assert served.fetch(path)[0] == 404


@pytest.mark.parametrize(
    ("host", "own"), [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False),
                      ("192.168.0.4", False), ("localhost.evil.example", False)],
)  # fmt: skip
def test_only_this_machines_own_addresses_are_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_a_port_in_use_is_an_error_when_asked_for_and_another_is_taken_when_not() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}: .*in use"):
            listen("127.0.0.1", port)
    with listen("127.0.0.1", None) as one, listen("127.0.0.1", None) as other:
        assert one.getsockname() != other.getsockname()
    assert isinstance(one, socket.socket)


def test_an_empty_log_and_a_missing_one_are_said_to_be_so(tmp_path: Path) -> None:
    with LogStore.open(tmp_path / "log.db"):
        pass
    with pytest.raises(LogError, match="no episode"):
        pages.require_log(tmp_path / "log.db")
    with pytest.raises(LogError, match="no such log"):
        pages.require_log(tmp_path / "none.db")


def test_a_run_that_died_is_cut_off_and_one_that_is_written_is_running(run_log: Path, tmp_path: Path) -> None:
    log = remade(run_log, tmp_path / "log.db", events=60)
    assert pages.index(log)["episodes"][0]["status"] == "interrupted"
    import os
    import sqlite3

    with sqlite3.connect(log) as db:
        db.execute("UPDATE episodes SET status = 'running'")
    assert pages.index(log)["episodes"][0]["status"] == "cut off"
    (tmp_path / "log.db.lock").write_text(f"{os.getpid()}\n")
    index = pages.index(log)
    assert (index["writer"], index["episodes"][0]["status"]) == (True, "running")
    assert pages.pulse(log)["going"] == [
        {
            "id": 1,
            "status": "running",
            "events": 60,
            "steps": index["episodes"][0]["steps"],
            "duration": pages.episode(log, 1)["duration"],
        }
    ]


def test_the_live_stream_tells_of_changes_as_they_are_committed(run_log: Path, tmp_path: Path) -> None:
    import urllib.request

    with LogReader.open(run_log) as reader:
        row, events = reader.episode(1), list(reader.events(1))
    with LogStore.open(tmp_path / "log.db") as store, Served(tmp_path / "log.db") as server:
        writer = store.start(cell=row.cell, seed=row.seed, setup=row.setup)
        with urllib.request.urlopen(server.url + "api/live", timeout=PATIENCE_S) as stream:
            counts = []
            for event in (events[0], events[1]):
                writer.append(
                    event.kind, event.payload, cog_time=event.cog_time, env_step=event.env_step, agent=event.agent
                )
                store.flush()
                while not (line := stream.readline()).startswith(b"data: ") or not json.loads(line[6:])["going"]:
                    pass
                counts.append(json.loads(line[6:])["going"][0]["events"])
    assert counts[-1] == 2


def test_top_level_names_of_the_pages_modules_are_all_different() -> None:
    from emcoop.viewer.export import STATIC

    declared = [
        name
        for file in sorted(STATIC.glob("*.js"))
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:const|let|class|function\*?) (\w+)", file.read_text(), re.MULTILINE
        )
    ]
    assert len(declared) == len(set(declared)), sorted(name for name in declared if declared.count(name) > 1)
