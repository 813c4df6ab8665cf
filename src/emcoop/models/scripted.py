"""A model that is a function: the seam for tests, scripts and studies without a provider."""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from emcoop.core.errors import ConfigError
from emcoop.core.types import Json, Usage
from emcoop.models.base import Completion, Settings, Turn
from emcoop.models.parsing import parsed_or_none

Reply: TypeAlias = str | Completion
Script: TypeAlias = Callable[[Sequence[Turn], Mapping[str, Json] | None, Settings], Reply | Awaitable[Reply]]

CHARACTERS_PER_TOKEN = 4


class ScriptedModel:
    """Answers with what `function(turns, schema, settings)` returns: a text, a `Completion`, or an awaitable of one.

    The function may raise `AttemptFailed` (retried by the stack), ModelUnavailable or ModelRefused. For a text,
    tokens are counted as a quarter of the characters, rounded up, and cost nothing.
    """

    def __init__(self, function: Script, name: str = "scripted") -> None:
        self.function = function
        self.name = name

    async def complete(
        self, turns: Sequence[Turn], *, schema: Mapping[str, Json] | None, settings: Settings
    ) -> Completion:
        """See `Model.complete`."""
        begun = time.perf_counter()
        reply = self.function(turns, schema, settings)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, Completion):
            return reply
        read = sum(_tokens(turn.content) for turn in turns)
        usage = Usage(read, _tokens(reply), 0, 1, 0.0)
        spent = time.perf_counter() - begun
        return Completion(reply, parsed_or_none(reply, schema), usage, spent, "stop", self.name)

    def describe(self) -> Mapping[str, Json]:
        """The adapter and the name."""
        return {"adapter": "scripted", "name": self.name}

    async def aclose(self) -> None:
        """Nothing to release."""


def make(name: str) -> ScriptedModel:
    """The function at import path ``package.module:function`` as a model.

    Raises ConfigError when the path has another form, cannot be imported, or is no function.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigError(f"model 'scripted:{name}': write scripted:package.module:function")
    try:
        function = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"model 'scripted:{name}' cannot be imported: {error}") from error
    if not callable(function):
        raise ConfigError(f"model 'scripted:{name}': {attribute} is no function")
    return ScriptedModel(function, name)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
