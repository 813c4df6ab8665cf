"""The log: one SQLite file that tells everything about the episodes in it. Specified in docs/log.md.

`LogStore` writes, `LogReader` reads page by page, `export_jsonl` turns a log into lines of JSON.
"""

from emcoop.log.events import EpisodeRow, Event, Status, validate
from emcoop.log.export import export_jsonl
from emcoop.log.reader import LogReader
from emcoop.log.store import LogStore
from emcoop.log.writer import EpisodeWriter

__all__ = ["EpisodeRow", "EpisodeWriter", "Event", "LogReader", "LogStore", "Status", "export_jsonl", "validate"]
