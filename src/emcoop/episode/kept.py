"""Points of no return that were found, kept beside the log: the log itself stays untouched.

One file per episode and policy in the folder `answers` of the run. It names the digest of the episode that it is about,
so that an answer about an earlier attempt at the episode is not taken for one about this.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from emcoop.core.config import StrictModel
from emcoop.core.errors import LogError
from emcoop.core.types import Json
from emcoop.episode.fork import NoReturn
from emcoop.log.events import EpisodeRow

FOLDER = "answers"
PREFIX = "no-return"


class _Kept(StrictModel):
    """What such a file says."""

    digest: str | None
    episode: int
    steps: int
    success: bool
    point_of_no_return: int | None
    policy: str


def keep_no_return(log: Path, episode: EpisodeRow, found: NoReturn) -> Path:
    """Write the answer, in place of an earlier one about the same episode and policy. Raises OSError."""
    folder = log.parent / FOLDER
    folder.mkdir(exist_ok=True)
    target = folder / f"{PREFIX}-{episode.id}-{quote(found.policy, safe='')}.json"
    document: dict[str, Json] = {"digest": episode.digest, **found.to_json()}
    fresh = target.with_name(f"{target.name}.{os.getpid()}.new")
    fresh.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", "utf-8")
    os.replace(fresh, target)
    return target


def kept_no_returns(log: Path, episode: EpisodeRow) -> list[NoReturn]:
    """What was found about this episode, by policy. Raises LogError, which names a file that cannot be read."""
    found = []
    for path in sorted((log.parent / FOLDER).glob(f"{PREFIX}-{episode.id}-*.json")):
        try:
            kept = _Kept.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise LogError(f"{path}: no sound answer; delete it and ask `emcoop fork` again") from error
        if kept.digest == episode.digest and kept.episode == episode.id:
            found.append(NoReturn(kept.episode, kept.steps, kept.success, kept.point_of_no_return, kept.policy))
    return found
