"""A run as one HTML file: the page, its script and style, and the data in compressed blocks.

The file asks nothing of any server. A block is gzip in base64 inside a `script` element that is no script, and is
unpacked when it is first looked at: the events in pages, the pictures in dozens, the blobs in buckets by their name. So
neither writing nor reading holds an episode whole. A policy inside the file lets only its own script and style run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from emcoop.core.errors import ConfigError, EmcoopError, LogError
from emcoop.core.types import Json
from emcoop.log.reader import LogReader
from emcoop.viewer import frames, pages
from emcoop.viewer.why import why

STATIC = Path(__file__).with_name("static")
EVENTS_PER_BLOCK = 1_000
FRAMES_PER_BLOCK = 25
BLOBS_PER_BUCKET = 200

_IMPORT = re.compile(r'^import\s+(?:\{[^}]*\}\s+from\s+)?"\./([a-z]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def export(log: Path, target: Path, episodes: Sequence[int] | None = None) -> str:
    """Write the page of this log, or of some of its episodes, into a file; returns a sentence about it.

    The file appears when it is complete. Raises LogError, and ConfigError where it cannot be written.
    """
    pages.require_log(log)
    fresh = target.with_name(f"{target.name}.new")
    try:
        with fresh.open("w", encoding="ascii", newline="\n") as out:
            count = _write(log, out, episodes)
        os.replace(fresh, target)
    except OSError as error:
        raise ConfigError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        fresh.unlink(missing_ok=True)
    size = target.stat().st_size / 1e6
    return f"{target}: {count} episodes, {size:.1f} MB; it opens in any browser, without a server"


def _write(log: Path, out: IO[str], episodes: Sequence[int] | None) -> int:
    index = pages.index(log)
    chosen = _choose(log, index, episodes)
    head, tail = _page()
    out.write(head)
    names: set[bytes] = set()
    for number in chosen:
        for name, content in _episode_blocks(log, number, names):
            _block(out, name, content)
    buckets = max(1, len(names) // BLOBS_PER_BUCKET)
    for bucket in range(buckets):
        _block(out, f"b{bucket}", _bucket(log, sorted(name for name in names if _bucket_of(name, buckets) == bucket)))
    _block(out, "run", {**index, "buckets": buckets})
    out.write(tail)
    return len(chosen)


def _choose(log: Path, index: dict[str, Json], wanted: Sequence[int] | None) -> list[int]:
    """The numbers to export; restricts the index to them."""
    known = [line["id"] for line in index["episodes"]]
    if wanted is None:
        return known
    missing = sorted(set(wanted) - set(known))
    if missing:
        raise LogError(f"{log}: no episode {missing[0]} in this log; it has {known[0]} to {known[-1]}")
    index["episodes"] = [line for line in index["episodes"] if line["id"] in set(wanted)]
    return [number for number in known if number in set(wanted)]


def _episode_blocks(log: Path, number: int, names: set[bytes]) -> Iterator[tuple[str, Json]]:
    """The blocks of one episode; the names of the blobs that its events mention are added to `names`."""
    marks: list[list[int]] = []
    start: int | None = 0
    while start is not None:
        page = pages.page(log, number, start, EVENTS_PER_BLOCK)
        if not page["events"]:
            break
        for event in page["events"]:
            names.update(bytes.fromhex(name) for name in _blob_names(event))
        yield f"e{number}p{len(marks)}", page
        marks.append(page["events"][0][:3])
        start = page["next"]
    if not marks:
        marks.append([0, 0, 0])
        yield f"e{number}p0", {"events": [], "host": {}}
    episode = pages.episode(log, number)
    pictures: Json = FRAMES_PER_BLOCK
    try:
        yield from _frame_blocks(log, number, episode["steps"])
    except EmcoopError as error:
        pictures = f"No pictures of this episode: {error}"
    try:
        reasons: Json = why(log, number)
    except EmcoopError as error:
        reasons = str(error)
    yield f"e{number}", {"episode": episode, "marks": marks, "frames": pictures, "why": reasons}


def _blob_names(event: Json) -> Iterator[str]:
    """The blobs that a person can open: observations, prompts and answers."""
    kind, payload = event[4], event[5]
    found = [payload.get("view")] if kind == "decision" else []
    if kind == "model_call":
        found = [payload.get("answer"), *(turn.get("content") for turn in payload.get("prompt") or ())]
    yield from (name for name in found if pages.is_blob_name(name))


def _frame_blocks(log: Path, number: int, steps: int) -> Iterator[tuple[str, Json]]:
    with LogReader.open(log) as reader:
        for begin in range(0, steps + 1, FRAMES_PER_BLOCK):
            end = min(begin + FRAMES_PER_BLOCK, steps + 1)
            pictures = [frames.draw(reader, number, step) for step in range(begin, end)]
            yield f"e{number}f{begin // FRAMES_PER_BLOCK}", pictures


def _bucket_of(name: bytes, buckets: int) -> int:
    return int.from_bytes(name[:2], "big") % buckets


def _bucket(log: Path, names: Sequence[bytes]) -> dict[str, Json]:
    found = {}
    with LogReader.open(log) as reader:
        for name in names:
            try:
                found[name.hex()] = reader.blob(name.hex()).decode("utf-8", "replace")
            except LogError:
                continue  # the page says that the log does not keep it
    return found


def _block(out: IO[str], name: str, content: Json) -> None:
    packed = gzip.compress(json.dumps(content).encode(), 6, mtime=0)
    text = base64.b64encode(packed).decode("ascii")
    out.write(f'<script type="text/plain" id="block-{html.escape(name)}">{text}</script>\n')


def _page() -> tuple[str, str]:
    """What comes before the blocks and after them."""
    script, style = bundle(), (STATIC / "style.css").read_text("utf-8")
    if "</" in script + style:
        raise ValueError("a script or style of the page would end its own element")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src blob: data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = (STATIC / "index.html").read_text("utf-8")
    meta = f'<meta http-equiv="content-security-policy" content="{policy}">\n<meta name="viewport"'
    page = page.replace('<meta name="viewport"', meta, 1)
    page = page.replace('<link rel="stylesheet" href="static/style.css">', f"<style>{style}</style>", 1)
    head, tail = page.split('<script type="module" src="static/main.js"></script>')
    ascii_tail = f'<script type="module">{script}</script>{tail}'
    return _ascii(head), _ascii(ascii_tail)


def bundle() -> str:
    """The page's modules as one, in the order of their imports; their top-level names are all different."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        done[name] = ""
        source = (STATIC / name).read_text("utf-8")
        for needed in _IMPORT.findall(source):
            add(needed)
        del done[name]  # so that it comes after what it needs
        done[name] = _EXPORT.sub("", _IMPORT.sub("", source))

    add("main.js")
    return _ascii_js("\n".join(done.values()))


def _ascii_js(text: str) -> str:
    """Letters beyond ASCII as escapes of the language: the file then reads the same in any encoding."""
    return "".join(letter if ord(letter) < 128 else f"\\u{{{ord(letter):x}}}" for letter in text)


def _ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
