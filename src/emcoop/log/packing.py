"""How contents are compressed: packs of prompts, answers, observations and states, and chunks of events.

They are small and much alike: those of one commit are compressed together, and all with dictionaries trained on
what came before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import zstandard

from emcoop.core.errors import CorruptLog

PLAIN = 0
"""Codec: the content itself."""

ZSTD = 1
"""Codec: zstd. Every codec above this is zstd with the dictionary of that number."""

FIRST_TRAINING = 128 << 10
"""After so many bytes of content the first dictionary is trained; the next ones after four times as many each."""

LARGEST = 1 << 28
"""A content of more bytes is kept uncompressed; a compressed one that claims more is damaged."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How contents of one purpose are compressed, and what their dictionaries are made of. All chosen by measuring."""

    purpose: str
    least: int
    """Contents of fewer bytes are stored as they are: they stay legible in any SQLite tool."""

    level: int
    dictionary: int
    """The bytes of a dictionary."""

    segment: int
    """It is composed of segments of so many bytes. Given them, the training searches for no better length, which takes
    a sixth of the time; long ones suit contents that are nearly alike."""

    sample: int
    """So many bytes of content it is trained on."""

    spread: bool
    """The sample is drawn evenly from all that came since the last training, else it is the latest content."""


BLOBS = Recipe("blob", least=32, level=6, dictionary=64 << 10, segment=1024, sample=512 << 10, spread=False)
"""States grow and change as episodes go on: the latest tell most about the next."""

CHUNKS = Recipe("chunk", least=128, level=3, dictionary=24 << 10, segment=2048, sample=256 << 10, spread=True)
"""Episodes that are played side by side are in the same phase: the latest chunks may all be beginnings."""


class Packer:
    """Compresses contents of one purpose.

    `keep` stores a new dictionary and returns its number. `latest` is the log's last dictionary for this purpose and
    its number; the packer goes on with it until the next is trained.
    """

    def __init__(self, recipe: Recipe, keep: Callable[[bytes], int], latest: tuple[int, bytes] | None) -> None:
        self._recipe = recipe
        self._keep = keep
        self._codec, dictionary = latest or (ZSTD, None)
        self._compressor = _compressor(dictionary, recipe.level)
        self._samples: deque[bytes] = deque()
        self._sampled = 0
        self._seen = 0
        self._trained = 0
        self._next = FIRST_TRAINING if latest is None else FIRST_TRAINING * 16

    def pack(self, content: bytes) -> tuple[int, bytes]:
        """The codec and the bytes to store: compressed where that makes them fewer."""
        if not self._recipe.least <= len(content) <= LARGEST:
            return PLAIN, content
        data = self._compressor.compress(content)
        return (self._codec, data) if len(data) < len(content) else (PLAIN, content)

    def learn(self, content: bytes) -> None:
        """Take the content into account when the next dictionary is trained, which is done here when it is time."""
        self._seen += len(content)
        if not self._wanted():
            return
        self._samples.append(content)
        self._sampled += len(content)
        while self._sampled > self._recipe.sample and not self._recipe.spread:
            self._sampled -= len(self._samples.popleft())
        if self._seen >= self._next:
            self._train()

    def _wanted(self) -> bool:
        """Whether the content that was just seen belongs to the next training's sample."""
        if not self._recipe.spread:
            return self._seen >= self._next - self._recipe.sample
        if self._seen >= self._next:
            return True
        since, until = self._seen - self._trained, self._next - self._trained
        return self._sampled * until <= since * self._recipe.sample

    def _train(self) -> None:
        recipe = self._recipe
        samples: list[bytes | bytearray | memoryview] = list(self._samples)
        self._trained, self._next = self._seen, self._next * 4
        if recipe.spread:
            self._samples.clear()
            self._sampled = 0
        try:
            trained = zstandard.train_dictionary(
                recipe.dictionary, samples, level=recipe.level, k=recipe.segment, d=8, f=18, accel=1
            ).as_bytes()
        except zstandard.ZstdError:  # too few or too unlike: the next training sees others
            return
        self._codec = self._keep(trained)
        self._compressor = _compressor(trained, recipe.level)


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
