"""What a part of a message does: the kinds of speech acts, and one of them."""

from __future__ import annotations

from dataclasses import dataclass

from emcoop.envs.maze.steps import Named, Step

AGREE, REFUSE, WITHDRAW, MOVES, CLAIM, START, GOAL, RELATIVE, END = (
    "agree", "refuse", "withdraw", "moves", "claim", "start", "goal", "relative", "end",
)  # fmt: skip
SEEN, BLOCKED, THERE, AGAIN, TOLD, ARRIVED, CHOOSE, ASKED, APART, UNKNOWN, UNCLEAR = (
    "seen", "blocked", "there", "again", "told", "arrived", "choose", "asked", "apart", "unknown", "unclear",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """What a part of a message does.

    `steps` are those of MOVES, of SEEN (only described), of TOLD (what was done so far) and, for AGREE, what is agreed
    to, if it is named ("yes to up"); `cell` belongs to CLAIM, START and GOAL. THERE means the step that was described
    last, AGAIN the last direction, CHOOSE the option of that `label`, ARRIVED that a step leads to the goal, UNCLEAR a
    step that is proposed in words that were not understood.

    `clause` numbers the clause within the message; `joined`: the steps go on from those before; `whole`: they are said
    to be the whole way from the start, `anew`: to begin there; `either`: they are named as another choice beside those
    before ("left or up"); `confirms`: they are told together with an agreement ("good, up it is"); `counter`: they are
    said to be another proposal than the one before; `listed`: they are an item of a list; `also`: "too" or the like
    stands there, `more`: "again" or the like; `goes`: a verb of motion or of proposing does; `wordy`: much else is said
    of them; `vague`: how far they go, or how much is agreed to, is not said; `ordinal`: the number of the step, as
    written; `asked`: the clause is a question. Of an agreement, `first`: only so many steps are agreed to; `bare`: it
    could as well answer a question of fact; `strong`: it can hardly be an exclamation.
    """

    kind: str
    clause: int
    steps: tuple[Step, ...] = ()
    cell: Named | None = None
    joined: bool = False
    whole: bool = False
    either: bool = False
    confirms: bool = False
    counter: bool = False
    listed: bool = False
    asked: bool = False
    vague: bool = False
    bare: bool = False
    strong: bool = False
    goes: bool = False
    first: int = 0
    label: str = ""
    ordinal: str = ""
    also: bool = False
    anew: bool = False
    more: bool = False
    wordy: bool = False
