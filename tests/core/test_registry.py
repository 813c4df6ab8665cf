import subprocess
import sys
from pathlib import Path

import pytest

from emcoop.core.errors import UnknownName
from emcoop.core.registry import Registry

REGISTRY = Registry("thing", "emcoop.things", {"path": "pathlib:Path"})


def test_unknown_name_says_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown thing 'paht'; did you mean 'path'"):
        REGISTRY.get("paht")


def test_builtin_is_imported_on_demand() -> None:
    assert REGISTRY.get("path") is Path


def test_an_installed_package_adds_a_name(tmp_path: Path) -> None:
    (tmp_path / "third_party.py").write_text("def make():\n    return 'made'\n")
    info = tmp_path / "third_party-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[emcoop.things]\nnew = third_party:make\nbroken = third_party:missing\n")
    code = (
        "from emcoop.core.registry import Registry; r = Registry('thing', 'emcoop.things', {});"
        "print(r.names(), r.get('new')());\n"
        "try: r.get('broken')\n"
        "except Exception as e: print(type(e).__name__, e)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(tmp_path)}
    )
    assert "['broken', 'new'] made" in out.stdout
    assert "ConfigError thing 'broken' from 'third_party:missing' cannot be imported" in out.stdout
