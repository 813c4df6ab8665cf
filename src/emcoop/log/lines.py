"""An event as a line, as it is hashed and stored: ``[seq,cog_time,env_step,agent,kind,payload]``, canonical JSON.

A chunk of a log is such lines of one episode, one after the other, and after them the host facts of these events as
lines ``[seq,facts]``.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from functools import lru_cache

from emcoop.core.types import AgentId, Json, Micros
from emcoop.log.events import Event

KIND_BITS = 61
"""Among so many bits the kinds of events are spread; those of the catalogue get one each to themselves."""

REMEMBERED_WORDS = 4096


class _Quoted(dict[str | None, bytes]):
    """Agents and kinds as canonical JSON. They are few, so each is encoded once."""

    def __missing__(self, word: str | None) -> bytes:
        if len(self) >= REMEMBERED_WORDS:
            self.clear()
        self[word] = json.dumps(word, ensure_ascii=False).encode()
        return self[word]


_QUOTED = _Quoted()


def event_line(seq: int, cog_time: Micros, env_step: int, agent: AgentId | None, kind: str, payload: bytes) -> bytes:
    """The line of an event whose payload is given as canonical JSON."""
    return b"[%d,%d,%d,%b,%b,%b]\n" % (seq, cog_time, env_step, _QUOTED[agent], _QUOTED[kind], payload)


def host_line(seq: int, facts: bytes) -> bytes:
    """The line of the host facts of an event, given as JSON."""
    return b"[%d,%b]\n" % (seq, facts)


def kind_bits(kinds: Iterable[str]) -> int:
    """A number with the bit of each of these kinds set: what a chunk without a wanted kind is passed over by."""
    bits = 0
    for kind in kinds:
        bits |= _kind_bit(kind)
    return bits


@lru_cache(maxsize=REMEMBERED_WORDS)
def _kind_bit(kind: str) -> int:
    return 1 << zlib.adler32(kind.encode("utf-8", "backslashreplace")) % KIND_BITS


@lru_cache(maxsize=64)
def line_of_kinds(kinds: tuple[str, ...], before: str = "") -> re.Pattern[str]:
    """What a line of one of these kinds begins with, after the text `before`; nothing of its payload is looked at."""
    wanted = "|".join(re.escape(json.dumps(kind, ensure_ascii=False)) for kind in kinds)
    return re.compile(rf'{before}\[[-\d,]++(?:null|"[^"\\]*+(?:\\.[^"\\]*+)*+"),(?:{wanted}),')


def read_event(line: str, seq: int) -> Event:
    """The event of a line, which must have this number. Raises ValueError, which names it."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise ValueError(f"event {seq} is not JSON: {error}") from error
    if type(found) is not list or len(found) != 6 or found[0] != seq:
        raise ValueError(f"event {seq} is damaged: its line holds something else")
    if type(found[5]) is not dict:
        raise ValueError(f"event {seq} holds no mapping")
    return Event(*found)


def read_facts(line: str) -> tuple[int, dict[str, Json]]:
    """The number of an event and its host facts. Raises ValueError."""
    found = json.loads(line)
    if type(found) is not list or len(found) != 2 or type(found[0]) is not int or type(found[1]) is not dict:
        raise ValueError(f"no host facts: {line[:80]!r}")
    return found[0], found[1]
