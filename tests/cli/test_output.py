"""What is printed is what was meant."""

import json

import pytest
from rich.table import Table

from emcoop.cli import app
from emcoop.cli.output import console, print_json, say
from emcoop.core.errors import ModelUnavailable


def test_names_of_tasks_are_not_taken_for_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("block_2:up: short by one")
    say("block_2:up: [short] by one")
    shown = capsys.readouterr()
    assert shown.out == "block_2:up: short by one\n"
    assert shown.err == "block_2:up: [short] by one\n"


def test_brackets_in_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("arm", box=None, pad_edge=False)
    table.add_row("protocol:text=be [/kind] [red]now")
    console().print(table)
    assert "protocol:text=be [/kind] [red]now" in capsys.readouterr().out


def test_half_of_a_cut_emoji_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"error": "refused: \ud83d", "name": "Zoë"}
    print_json(value)
    shown = capsys.readouterr().out
    assert shown.encode() == b'{\n  "error": "refused: \\ud83d",\n  "name": "Zo\xc3\xab"\n}\n'
    assert json.loads(shown) == value


def test_what_a_provider_says_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "refused: \x1b[2J\x9b31mgone\nsecond line"

    def fail() -> None:
        raise ModelUnavailable(words)

    monkeypatch.setattr(app, "app", fail)
    assert app.run_app() == 1
    say(words)
    assert capsys.readouterr().err == "error: refused: �[2J�31mgone\nsecond line\nrefused: �[2J�31mgone\nsecond line\n"
