"""Plain text of a message: what was not said is cut out, marks and pictures become words, drawn maps go.

Not said to anybody: thoughts between tags, and lines of another that are quoted with ``>``. Arrows (drawn, as emoji or
in LaTeX) become directions; items of lists, rows of tables and entries of JSON become clauses of their own.
"""

from __future__ import annotations

import re

from emcoop.envs.maze.rules import PHRASE
from emcoop.envs.maze.steps import STEP_RE

TABLE = "§"
"""Stands for a row of a table with steps, which is not understood."""
ITEM = "•"
"""The mark of a list's item, which goes on from the item before it."""

_END = re.compile(re.escape(PHRASE), re.IGNORECASE)
_THOUGHT_TAG = re.compile(r"<(/?)\s*(?:think|thinking|thought|reasoning|scratchpad|reflection)\s*>", re.IGNORECASE)
_SPACES = re.compile(r"\s{2,}")
_QUOTED_LINE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
_LATEX = {"uparrow": "↑", "downarrow": "↓", "leftarrow": "←", "rightarrow": "→", "to": "→"}
_LATEX_ARROW = re.compile(r"\\(?:long|Long)?(uparrow|downarrow|leftarrow|rightarrow|to)\b")
_LATEX_WORD = re.compile(r"\\(?:text(?:bf|it)?|mathbf|mathrm|[()\[\],; ]|[a-zA-Z]+)|\$")
_ARROW = {
    "↑": "up", "↓": "down", "←": "left", "→": "right", "⬆": "up", "⬇": "down", "⬅": "left", "➡": "right",
    "🔼": "up", "🔽": "down", "◀": "left", "▶": "right", "👆": "up", "👇": "down", "👈": "left", "👉": "right",
    "▲": "up", "▼": "down", "◄": "left", "►": "right",
}  # fmt: skip
_A = "".join(_ARROW)
_UP_DOWN_LEFT = _A.replace("→", "").replace("👉", "")
_ARROWS = re.compile(rf"(?:[{_A}]\ufe0f?[\s,]*){{2,}}|[{_UP_DOWN_LEFT}]\ufe0f?|→(?=\s*(?:[.!?,;:)\n\"'`]|$))")
"""Arrows that are steps; a single one to the right between two words or cells only joins them."""
_THUMB = re.compile(r"[👍👌🤝]\ufe0f?[\U0001f3fb-\U0001f3ff]?")
_MAP_LINE = re.compile(r"^[\s@*.#?,|/o`'\"]{3,}$", re.MULTILINE)
_MAP_QUOTE = re.compile(r"[`\"'](?=[^\n]{2,60})[@*.#?o](?:[ ,|]?[@*.#?o]){2,30}[`\"']")
_QUOTED_STEP = re.compile(r"[\"']([UDLRNSEW]|(?i:up|down|left|right))[\"']")
_TICKED = re.compile(
    r"\b(?:step|move)s?\s*\d{1,2}\W{0,3}[✓✔✅☑]\ufe0f?|^\s*[✓✔✅☑]\ufe0f?\s*$", re.IGNORECASE | re.MULTILINE
)
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$|```(?:json|text|python)?", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t:|-]{5,}\|?[ \t]*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|([^\n]*)\|[ \t]*$", re.MULTILINE)
_MARKS = re.compile(r"\*\*|__|(?<=\w)\*(?=\W)|(?<=\s)\*(?=\w)|^[ \t]*#{1,6}[ \t]+|`", re.MULTILINE)
_ITEM = re.compile(r"\n[ \t]*(?:\(?\d{1,2}[.)]|[-*•])[ \t]+")
_ENTRY = re.compile(r"\{[^{}]{0,400}(?:\{[^{}]{0,80}\}[^{}]{0,200}){0,4}\}")
_FIELD = re.compile(r"[\"']?(\w+)[\"']?\s*:\s*(\{[^{}]*\}|\[[^\[\]]*\]|\"[^\"\n]*\"|'[^'\n]*'|[\w.-]+)")
_VERDICT = re.compile(r"status|answer|verdict|response|reply|act|action|type|accept\w*|agree\w*|vote", re.IGNORECASE)
_WHERE = re.compile(r"to|cell|move|dir\w*|step|steps|moves|path|propos\w*|next", re.IGNORECASE)
_ROW_COL = re.compile(r"\W*row\W+(\d{1,2})\W+col(?:umn)?\W+(\d{1,2})\W*", re.IGNORECASE)


def parts(text: str) -> tuple[str, bool]:
    """The plain text of a message up to the completion phrase, and whether that was said."""
    text, *rest = _END.split(_said(text.replace("’", "'")), maxsplit=1)
    text = _SPACES.sub(lambda run: "\n\n" if run[0].count("\n") > 1 else "\n" if "\n" in run[0] else " ", text)
    text = _QUOTED_LINE.sub("", text)
    text = _LATEX_ARROW.sub(lambda found: _LATEX[found[1]], text)
    if "\\" in text or "$" in text:
        text = _LATEX_WORD.sub(" ", text)
    text = _FENCE.sub("", text)
    text = _MAP_QUOTE.sub(" ", _MAP_LINE.sub("", text))
    text = _ENTRY.sub(_told, text)
    text = _TABLE_ROW.sub(_row, _TABLE_RULE.sub("", text))
    text = _ARROWS.sub(_steps, text)
    text = _TICKED.sub(" agreed. ", _THUMB.sub(" agreed. ", text))
    text = _QUOTED_STEP.sub(r"\1", text)
    text = _MARKS.sub("", _ITEM.sub(f"\n{ITEM} ", "\n" + text))
    return text, bool(rest)


def _steps(arrows: re.Match[str]) -> str:
    """Arrows as directions, with what stood after them."""
    words = ", ".join(_ARROW[arrow] for arrow in arrows[0] if arrow in _ARROW)
    after = arrows[0].rstrip("\ufe0f")
    return f" {words}" + (", " if after.endswith((" ", ",")) and "," in after[-2:] else " ")


def _row(row: re.Match[str]) -> str:
    """A row of a table of two columns as "this = that", of more as its words, or as a mark if it tells steps."""
    columns = [column.strip() for column in row[1].split("|")]
    if len(columns) == 2 and re.fullmatch(r"\W*(?:(?:step|move)\s*)?\d{1,2}\W*", columns[0], re.IGNORECASE):
        return f"{ITEM} {columns[1]}"
    if len(columns) == 2:
        return f"{columns[0]} = {columns[1]}."
    return f"{TABLE}." if STEP_RE.search(row[1]) else " ".join(columns) + "."


def _said(text: str) -> str:
    """The text without thoughts between tags; a tag that is never closed, or never opened, reaches to the edge."""
    kept, place, inside = list[str](), 0, False
    for tag in _THOUGHT_TAG.finditer(text):
        if tag[1] and not inside:
            kept = []
        elif not tag[1] and not inside:
            kept.append(text[place : tag.start()])
        inside, place = not tag[1], tag.end()
    return "\n".join(kept if inside else [*kept, text[place:]])


def _told(entry: re.Match[str]) -> str:
    """An entry of JSON as a sentence: its verdict, then its steps; others are told as they stand."""
    fields = {name.lower(): value.strip("\"'") for name, value in _FIELD.findall(entry[0][1:-1])}
    verdict = " ".join(value for name, value in fields.items() if _VERDICT.fullmatch(name))
    where = {name: value for name, value in fields.items() if _WHERE.fullmatch(name)}
    if not where:
        return entry[0]
    cells = [_ROW_COL.sub(r"row \1 column \2", value) for value in where.values()]
    return f"\n{verdict}: {' to '.join(cells)}.\n"
