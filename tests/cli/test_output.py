"""What is printed is what was meant."""

import pytest

from emcoop.cli.output import console, say


def test_names_of_tasks_are_not_taken_for_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("block_2:up: short by one")
    say("block_2:up: [short] by one")
    shown = capsys.readouterr()
    assert shown.out == "block_2:up: short by one\n"
    assert shown.err == "block_2:up: [short] by one\n"
