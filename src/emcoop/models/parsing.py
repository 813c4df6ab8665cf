"""Reading a JSON object out of what a model wrote. The text is data: it is parsed, never evaluated."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from emcoop.core.types import Json

TEXT_LIMIT = 64 * 1024
"""Characters of an answer that are read; what lies beyond is cut."""

CANDIDATES = 16
"""How many balanced brace pairs are tried before the text counts as holding no JSON object."""


def parse_object(text: str) -> dict[str, Json]:
    """The JSON object that the text is or holds: bare, in a code fence, or after leading prose or thoughts.

    Trailing commas are forgiven. An object that is cut off is not completed. Raises ValueError with the reason.
    """
    text = text[:TEXT_LIMIT]
    try:
        value = _loads(text.strip())
        if isinstance(value, dict):
            return value
    except ValueError:
        pass
    # What a reasoning model thought aloud before its answer is no answer.
    if text.lstrip().startswith("<think>"):
        text = text.partition("</think>")[2]
    reason = "there is no JSON object in the answer"
    for candidate in _balanced(text):
        try:
            value = _loads_forgiving(candidate)
        except ValueError as error:
            reason = f"the answer is not valid JSON: {error}"
            continue
        if isinstance(value, dict):
            return value
    raise ValueError(reason)


def parsed_or_none(text: str, schema: object | None) -> Json:
    """`Completion.parsed`: the JSON object in the text when a schema was asked for, else None."""
    if schema is None:
        return None
    try:
        return parse_object(text)
    except ValueError:
        return None


def _loads(text: str) -> Json:
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\u" in text and not _is_unicode(value):
        raise ValueError("it escapes half of a surrogate pair")
    return value


def _is_unicode(value: Json) -> bool:
    shown = json.dumps(value, ensure_ascii=False)
    return shown == encodable(shown)


def encodable(text: str) -> str:
    """The text with half surrogate pairs, which have no UTF-8 form and no server takes, replaced by ``?``."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _loads_forgiving(text: str) -> Json:
    try:
        return _loads(text)
    except ValueError:
        mended = _without_trailing_commas(text)
        if mended == text:
            raise
        return _loads(mended)


def _without_trailing_commas(text: str) -> str:
    """Linear: a regular expression that skips strings would take quadratic time on hostile quotes."""
    drop = set()
    comma: int | None = None
    for i, character in _outside_strings(text):
        if character in "]}" and comma is not None:
            drop.add(comma)
        if not character.isspace():
            comma = i if character == "," else None
    return "".join(character for i, character in enumerate(text) if i not in drop)


def _outside_strings(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """The characters that lie outside JSON strings, with their places; an opening quote counts as outside."""
    quoted, escaped = False, False
    for i in range(start, len(text)):
        character = text[i]
        if not quoted:
            quoted = character == '"'
            yield i, character
        elif escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            quoted = False


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large a number")
    return value


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
"""Made once: to make it costs more than to read an answer with it."""


def _balanced(text: str) -> Iterator[str]:
    """Outermost balanced ``{...}`` parts in order. Raises ValueError when one is opened and never closed."""
    start = text.find("{")
    for _ in range(CANDIDATES):
        if start < 0:
            return
        end = _closing(text, start)
        yield text[start:end]
        start = text.find("{", end)


def _closing(text: str, start: int) -> int:
    depth = 0
    for i, character in _outside_strings(text, start):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return i + 1
    raise ValueError("the JSON object in the answer is cut off")
