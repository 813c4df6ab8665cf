"""How contents are compressed: packs of prompts, answers, observations and states, and the longer payloads of events.

They are small and much alike: blobs of one commit are compressed together, and all with dictionaries trained on
what came before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import zstandard

from emcoop.core.errors import CorruptLog

PLAIN = 0
"""Codec: the content itself."""

ZSTD = 1
"""Codec: zstd. Every codec above this is zstd with the dictionary of that number."""

LEVEL = 6
"""For packs of blobs, and the training of dictionaries."""

SMALL_LEVEL = 3
"""For single payloads: with a dictionary they come out no larger than at LEVEL, in an eighth of the time."""

DICTIONARY_BYTES = 64 << 10

SAMPLE_BYTES = 512 << 10
"""How much of the latest content a dictionary is trained on."""

TRAINING: dict[str, Any] = {"level": LEVEL, "k": 1024, "d": 8, "f": 18, "accel": 1}
"""Given the segment's length k, the training searches for no better one: a sixth of the time. Long segments suit
contents that are nearly alike; on our logs these dictionaries compress better than those that were searched for."""

FIRST_TRAINING = 128 << 10
"""After so many bytes of content the first dictionary is trained; the next ones after four times as many each."""

LARGEST = 1 << 28
"""A content of more bytes is kept uncompressed; a compressed one that claims more is damaged."""


class Packer:
    """Compresses contents of one sort, of at least `least` bytes.

    `keep` stores a new dictionary and returns its number. `latest` is the log's last dictionary for this sort of
    content and its number; the packer goes on with it until the next is trained.
    """

    def __init__(
        self, keep: Callable[[bytes], int], latest: tuple[int, bytes] | None, *, least: int, level: int = LEVEL
    ) -> None:
        self._keep = keep
        self._least = least
        self._level = level
        self._codec, dictionary = latest or (ZSTD, None)
        self._compressor = _compressor(dictionary, level)
        self._samples: deque[bytes] = deque()
        self._sampled = 0
        self._seen = 0
        self._next = FIRST_TRAINING if latest is None else FIRST_TRAINING * 16

    def pack(self, content: bytes) -> tuple[int, bytes]:
        """The codec and the bytes to store: compressed where that makes them fewer."""
        if not self._least <= len(content) <= LARGEST:
            return PLAIN, content
        data = self._compressor.compress(content)
        return (self._codec, data) if len(data) < len(content) else (PLAIN, content)

    def learn(self, content: bytes) -> None:
        """Take the content into account when the next dictionary is trained, which is done here when it is time."""
        self._seen += len(content)
        if self._seen < self._next - SAMPLE_BYTES:
            return  # it would be forgotten again before the next training
        self._samples.append(content)
        self._sampled += len(content)
        while self._sampled > SAMPLE_BYTES:
            self._sampled -= len(self._samples.popleft())
        if self._seen >= self._next:
            self._next *= 4
            self._train()

    def _train(self) -> None:
        try:
            trained = zstandard.train_dictionary(DICTIONARY_BYTES, list(self._samples), **TRAINING).as_bytes()
        except zstandard.ZstdError:  # too few or too unlike: the next training sees others
            return
        self._codec = self._keep(trained)
        self._compressor = _compressor(trained, self._level)


def pack_dictionary(dictionary: bytes) -> bytes:
    """A dictionary as stored: codec ZSTD, always."""
    return zstandard.ZstdCompressor(level=9).compress(dictionary)


def unpack_dictionary(stored: bytes) -> bytes:
    """The inverse of `pack_dictionary`. Raises CorruptLog."""
    return Unpacker(lambda number: None).unpack(ZSTD, stored)


def _compressor(dictionary: bytes | None, level: int) -> zstandard.ZstdCompressor:
    if dictionary is None:
        return zstandard.ZstdCompressor(level=level)
    known = zstandard.ZstdCompressionDict(dictionary)
    known.precompute_compress(level=level)
    return zstandard.ZstdCompressor(level=level, dict_data=known, write_dict_id=False)


class Unpacker:
    """The inverse of Packer; `dictionary` fetches the bytes of one by its number, None when there is none."""

    def __init__(self, dictionary: Callable[[int], bytes | None]) -> None:
        self._dictionary = dictionary
        self._decompressors = {ZSTD: zstandard.ZstdDecompressor()}

    def unpack(self, codec: int, data: bytes) -> bytes:
        """The content. Raises CorruptLog when the bytes cannot be decompressed."""
        if codec == PLAIN:
            return data
        try:
            size = zstandard.frame_content_size(data)
            if not 0 <= size <= LARGEST:
                raise CorruptLog(f"a compressed content claims {size} bytes")
            return self._decompressor(codec).decompress(data)
        except zstandard.ZstdError as error:
            raise CorruptLog(f"a compressed content is damaged: {error}") from error

    def _decompressor(self, codec: int) -> zstandard.ZstdDecompressor:
        if codec not in self._decompressors:
            found = self._dictionary(codec)
            if found is None:
                raise CorruptLog(f"a content needs dictionary {codec}, which is not there")
            known = zstandard.ZstdCompressionDict(found)
            self._decompressors[codec] = zstandard.ZstdDecompressor(dict_data=known)
        return self._decompressors[codec]
