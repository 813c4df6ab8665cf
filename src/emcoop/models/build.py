"""From a model's name to a model that retries, adapts its concurrency and remembers."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from emcoop.core.errors import ConfigError
from emcoop.models import MODELS
from emcoop.models.base import Model
from emcoop.models.cache import AnswerCache, Cached
from emcoop.models.limiter import Limiter
from emcoop.models.retry import Patience, Retrying

FORM = "write adapter:name, for example openai:gpt-4o-mini, openai:qwen3@http://127.0.0.1:8000/v1 or local:smollm2"


def build(
    name: str,
    *,
    cache: Path | None = None,
    patience: Patience | None = None,
    start: int = 8,
    most: int = 64,
    **options: Any,
) -> Model:
    """The model named ``adapter:name`` or ``adapter:name@base_url``, ready for many calls at once.

    `cache` is the SQLite file of remembered answers, if any. The limit on calls in flight begins at `start` and
    never exceeds `most`, nor what the adapter can do at once. Further `options` go to the adapter. Raises
    ConfigError for a name of another form or an unknown option, UnknownName (with the nearest) for an unknown
    adapter, and MissingDependency for a missing package, key or model file.
    """
    adapter_name, colon, rest = name.partition(":")
    if not (adapter_name and colon and rest):
        raise ConfigError(f"model {name!r} has no adapter; {FORM}")
    make = MODELS.get(adapter_name)
    model_name, *address = re.split("@(?=https?://)", rest, maxsplit=1)
    if address:
        options = {**options, "base_url": address[0]}
    if not model_name:
        raise ConfigError(f"model {name!r} has no name before '@'; {FORM}")
    try:
        inspect.signature(make).bind(model_name, **options)
    except TypeError as error:
        raise ConfigError(f"model {name!r}: the adapter {adapter_name!r} takes no such option: {error}") from error
    adapter: Model = make(model_name, **options)
    most = min(most, getattr(adapter, "at_once", most))
    model: Model = Retrying(adapter, Limiter(min(start, most), most), patience)
    return model if cache is None else Cached(model, AnswerCache(cache), adapter.describe())
