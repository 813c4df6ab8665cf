# ruff: noqa: E501  (what is said stands on one line)
"""Dialogues written by hand, with the way that their speakers agreed upon, for the extractor of the free mode.

Labels were given by these rules, before the extractor was written: a step counts once another speaker has agreed to
it, in words, by reporting the cell it leads to, or by naming it too; what is withdrawn or refused before that does not
count; a list of cells or steps is one proposal; a way that is told once more from the start and agreed replaces what
came before; the way ends at the goal or at the first step into a wall (`hit`). A dialogue is unresolved (None) when its
words allow several ways, or none that begins at the start.

`DEVELOPED` was used while the extractor was made; `HELD_OUT` was written and labelled at the same time and not looked at
until it was first scored (17 of 18 agreed); `LATER` was written after that (15 of 16 agreed at first sight). What the
two misses showed was mended then: a corner in a sentence hid its step, and "approve" was no agreement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAZES = {
    # way: R R D D D R R
    "one": ("@..#.", "##.#.", "...#.", ".#..*", "....."),
    # way: R R U U U R U R
    "two": ("......", ".##.*.", ".#..#.", ".#.##.", ".#....", "@..#.."),
    # way: L D L L D D R
    "three": (".#.@", "...#", ".#..", ".*#."),
    # way: D D R R R D R
    "four": ("..#...", ".#..#.", ".@...#", "#.##..", ".....#", "..#..*"),
    # way: U U L U U L
    "five": ("..*..", ".##.#", ".....", ".#.#.", "...#@"),
}


@dataclass(frozen=True)
class Dialogue:
    """A transcript: (speaker, text) in order; `way` are the agreed letters up to the end, None for unresolved."""

    name: str
    maze: str
    said: tuple[tuple[int, str], ...]
    way: str | None
    hit: str = ""


def dialogue(name: str, maze: str, way: str | None, text: str, hit: str = "") -> Dialogue:
    """A dialogue written as lines that begin with ``A:``, ``B:`` or ``C:``; other lines go on with the turn."""
    said: list[tuple[int, str]] = []
    for line in text.strip().splitlines():
        begun = re.match(r"([ABC]): ?", line.strip())
        if begun:
            said.append(("ABC".index(begun[1]), line.strip()[begun.end() :]))
        else:
            said[-1] = (said[-1][0], said[-1][1] + "\n" + line.strip())
    return Dialogue(name, maze, tuple(said), way, hit)


DEVELOPED = [
    dialogue(
        "plain words",
        "one",
        "RRDDDRR",
        """
        A: I propose right.
        B: Agreed, right.
        A: Right again?
        B: Yes, go right.
        A: Now down.
        B: OK, down.
        A: I propose down once more.
        B: Sounds good.
        A: Down.
        B: Agreed.
        A: Then right.
        B: Yes.
        A: And right, that is the goal.
        B: Confirmed. MAZE FINISHED""",
    ),
    dialogue(
        "two partners propose by turns",
        "one",
        "RRDD",
        """
        A: Shall we move right?
        B: Agreed. Next I suggest right.
        A: Agreed. Next I suggest down.
        B: Agreed. Next I suggest down.
        A: Agreed. After that my map is hidden, what do you see below?
        B: Below it is free for me.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "row and column from zero",
        "one",
        "RRDDDRR",
        """
        A: Let us use (row, col) from the top left, starting with 0. The start is (0,0), the goal (3,4). I propose (0,1).
        B: Agreed, we are at (0,1). I propose (0,2).
        A: Agreed. Next (1,2).
        B: OK. Next (2,2).
        A: Yes. Next (3,2).
        B: Yes, (3,2). Next (3,3).
        A: Agreed. Next (3,4).
        B: Agreed, that is the goal. MAZE FINISHED""",
    ),
    dialogue(
        "row and column from one",
        "one",
        "RRDDDRR",
        """
        A: I number rows and columns from 1, row first. We start at (1,1) and want to get to (4,5). Move to (1,2)?
        B: Yes, move to (1,2).
        A: Then (1,3)?
        B: Yes.
        A: (2,3)?
        B: Yes.
        A: (3,3)?
        B: Yes, fine.
        A: (4,3)?
        B: Yes.
        A: (4,4)?
        B: Yes.
        A: (4,5), the goal?
        B: Yes! MAZE FINISHED""",
    ),
    dialogue(
        "column first",
        "one",
        "RRDDDRR",
        """
        A: I write cells as (column, row), both from 0, origin at the top left. Start (0,0), goal (4,3). My proposal: (1,0).
        B: I agree to (1,0). My proposal: (2,0).
        A: I agree. My proposal: (2,1).
        B: I agree. My proposal: (2,2).
        A: I agree. My proposal: (2,3).
        B: I agree. My proposal: (3,3).
        A: I agree. My proposal: (4,3).
        B: I agree. MAZE FINISHED""",
    ),
    dialogue(
        "x and y without words, goal tells",
        "one",
        "RRDDDRR",
        """
        A: Start = (1,1), goal = (5,4). Path so far: none. Next cell (2,1)?
        B: OK (2,1). Next cell (3,1)?
        A: OK (3,1). Next cell (3,2)?
        B: OK (3,2). Next cell (3,3)?
        A: OK (3,3). Next cell (3,4)?
        B: OK (3,4). Next cell (4,4)?
        A: OK (4,4). Next cell (5,4)?
        B: OK (5,4). MAZE FINISHED""",
    ),
    dialogue(
        "bottom left origin",
        "two",
        "RRUUURUR",
        """
        A: Let the bottom left corner be (0,0) with x to the right and y upwards. We stand at (0,0), the goal is at (4,4).
        B: Understood. I propose (1,0).
        A: Accepted. I propose (2,0).
        B: Accepted. I propose (2,1).
        A: Accepted. I propose (2,2).
        B: Accepted. I propose (2,3).
        A: Accepted. I propose (3,3).
        B: Accepted. I propose (3,4).
        A: Accepted. I propose (4,4).
        B: Accepted. MAZE FINISHED""",
    ),
    dialogue(
        "chess squares from below",
        "two",
        "RRUUURUR",
        """
        A: Like on a chess board: columns A-F, rows 1-6 from the bottom. Start is A1, goal is E5. I propose B1.
        B: B1 is fine. I propose C1.
        A: C1 is fine. I propose C2.
        B: C2 is fine. I propose C3.
        A: C3 is fine. I propose C4.
        B: C4 is fine. I propose D4.
        A: D4 is fine. I propose D5.
        B: D5 is fine. I propose E5.
        A: E5 it is. MAZE FINISHED""",
    ),
    dialogue(
        "squares from above",
        "one",
        "RRDDDRR",
        """
        A: Columns A to E, rows 1 to 5 from the top. Start A1, goal E4. Go to B1?
        B: Yes, B1. Then C1?
        A: Yes, C1. Then C2?
        B: Yes, C2. Then C3?
        A: Yes, C3. Then C4?
        B: Yes, C4. Then D4?
        A: Yes, D4. Then E4?
        B: Yes, E4, done. MAZE FINISHED""",
    ),
    dialogue(
        "r and c",
        "four",
        "DDRRRDR",
        """
        A: Start r3c2, goal r6c6. Propose r4c2.
        B: Agree r4c2. Propose r5c2.
        A: Agree r5c2. Propose r5c3.
        B: Agree r5c3. Propose r5c4.
        A: Agree r5c4. Propose r5c5.
        B: Agree r5c5. Propose r6c5.
        A: Agree r6c5. Propose r6c6.
        B: Agree r6c6. MAZE FINISHED""",
    ),
    dialogue(
        "r and c from zero",
        "four",
        "DDRR",
        """
        A: Using r0c0 for the top-left cell, we begin at r2c1 and the goal is r5c5. I suggest r3c1.
        B: r3c1 is good. r4c1?
        A: r4c1 is good. r4c2?
        B: r4c2 is good. r4c3?
        A: r4c3 is good. I do not know what comes next.
        B: Neither do I. MAZE FINISHED""",
    ),
    dialogue(
        "compass",
        "two",
        "RRUUURUR",
        """
        A: East is open. Go east?
        B: Yes, east.
        A: East again?
        B: Yes.
        A: North?
        B: Agreed.
        A: North?
        B: Agreed.
        A: North?
        B: Agreed.
        A: East?
        B: Agreed.
        A: North?
        B: Agreed.
        A: East to the goal?
        B: Agreed, MAZE FINISHED""",
    ),
    dialogue(
        "compass letters in a list",
        "four",
        "DDRRRDR",
        """
        A: My idea for the whole way: S, S, E, E, E, S, E. Do you agree?
        B: I have checked every cell that I see. I agree with the whole way.
        A: Great. MAZE FINISHED""",
    ),
    dialogue(
        "a list of cells",
        "one",
        "RRDDDRR",
        """
        A: With (row, column) from 0 I get (0,0) -> (0,1) -> (0,2) -> (1,2) -> (2,2) -> (3,2) -> (3,3) -> (3,4). Ok for you?
        B: Yes, all of these are free as far as I can see. Agreed.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "a list with a wall, corrected before agreement",
        "one",
        "RRDDDRR",
        """
        A: Rows and columns from 1: (1,1), (1,2), (1,3), (2,3), (3,3), (3,4), (4,4), (4,5)?
        B: No, (3,4) is a wall on my map. I suggest (1,1), (1,2), (1,3), (2,3), (3,3), (4,3), (4,4), (4,5).
        A: You are right, I agree with your list.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "a refused step",
        "one",
        "RRD",
        """
        A: Right?
        B: Yes.
        A: Down?
        B: No, there is a wall below. Right instead?
        A: Yes, right.
        B: Now down?
        A: Yes.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "a withdrawn step",
        "one",
        "RRDD",
        """
        A: Let us go down.
        A: Wait, I take that back, it is a wall. Let us go right.
        B: Right is fine.
        A: Right again.
        B: Fine.
        A: Left. No, scratch that, down.
        B: Down, agreed.
        A: Down.
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "a correction inside one turn",
        "four",
        "DD",
        """
        A: I propose right, sorry, I mean down.
        B: Down, ok.
        A: Down again.
        B: ok. MAZE FINISHED""",
    ),
    dialogue(
        "into a wall",
        "one",
        "RR",
        """
        A: I propose right.
        B: Agreed.
        A: I propose right.
        B: Agreed.
        A: I propose right.
        B: Agreed. MAZE FINISHED""",
        hit="right",
    ),
    dialogue(
        "off the grid",
        "one",
        "",
        """
        A: Let's move up first.
        B: OK, let's do that.
        A: MAZE FINISHED""",
        hit="up",
    ),
    dialogue(
        "top right origin",
        "three",
        "LDLLDDR",
        """
        A: I count rows from the top and columns from the right, from 1. So the start is (1,1) and the goal (4,3).
        B: Fine. (1,2)?
        A: Agreed. (2,2)?
        B: Agreed. (2,3)?
        A: Agreed. (2,4)?
        B: Agreed. (3,4)?
        A: Agreed. (4,4)?
        B: Agreed. (4,3)?
        A: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "bottom right origin",
        "five",
        "UULUUL",
        """
        A: The start, at the bottom right, is (0,0); I count rows upwards and columns to the left. The goal is (4,2). First (1,0)?
        B: Yes. (2,0)?
        A: Yes. (2,1)?
        B: Yes. (3,1)?
        A: Yes. (4,1)?
        B: Yes. (4,2)?
        A: Yes. MAZE FINISHED""",
    ),
    dialogue(
        "row words",
        "three",
        "LDLL",
        """
        A: We are in row 1, column 4; the goal is in row 4, column 2. I propose row 1, column 3.
        B: I agree with row 1, column 3. I propose row 2, column 3.
        A: I agree with row 2, column 3. I propose row 2, column 2.
        B: I agree with row 2, column 2. I propose row 2, column 1.
        A: I agree with row 2, column 1.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "directions with cells",
        "one",
        "RRDD",
        """
        A: Move right to (2,1)?
        B: Yes. Then right to (3,1)?
        A: Yes. Then down to (3,2)?
        B: Yes. Then down to (3,3)?
        A: Yes. MAZE FINISHED""",
    ),
    dialogue(
        "reporting the new place",
        "two",
        "RRU",
        """
        A: Start (5,0), goal (1,4), 0-based rows and columns. Move right.
        B: We are now at (5,1). Move right.
        A: We are now at (5,2). Move up.
        B: We are now at (4,2). I do not know how to go on.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "talk of walls is no move",
        "four",
        "DDR",
        """
        A: On my map there is a wall to the right of us, two cells up is free. What is below you?
        B: Below is free, above is a wall. Let's move down.
        A: Agreed.
        B: Left of us is a wall. Let's move down again.
        A: Agreed, down.
        B: Let's move right.
        A: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "nobody agrees",
        "one",
        "",
        """
        A: I propose right.
        B: I propose down.
        A: I still propose right.
        B: I still propose down.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "three speakers",
        "one",
        "RR",
        """
        A: I propose right.
        B: Agreed.
        C: Agreed.
        B: Right again?
        C: Yes.
        A: Yes.
        B: Down?
        C: Yes.
        A: No, wait.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "the way told again",
        "one",
        "RRDDDRR",
        """
        A: Right?
        B: Yes.
        A: Right?
        B: Yes.
        A: To sum up, and to go on, the full path from the start is R, R, D, D, D, R, R. Agreed?
        B: Agreed, that is our final path.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "scripted sentences",
        "three",
        "LDL",
        """
        A: I propose: left.
        My map:
        ?#.@
        ...?
        ?#..
        .*?.
        B: I agree: left.
        A: I propose: down.
        B: I agree: down.
        A: I propose: left.
        B: I agree: left. MAZE FINISHED""",
    ),
    dialogue(
        "symmetric cells without any hint",
        "two",
        None,
        """
        A: Start is (1,1). The goal is (5,5). I go to (2,1).
        B: Agreed, (2,1). Next (3,1).
        A: Agreed. Next (3,2).
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "a start that fits no scheme",
        "one",
        None,
        """
        A: The start is at (7,9). I propose (7,10).
        B: Agreed, (7,10).
        A: Next (8,10).
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "two schemes at once",
        "one",
        None,
        """
        A: I use (row, col) from 0: start (0,0), goal (3,4). I propose (0,1).
        B: For me the start is (1,1) and the goal is (4,5). So I propose (1,2).
        A: Agreed, (1,2).
        B: And now (1,3).
        A: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "no word about moves",
        "one",
        None,
        """
        A: Hello! This is a fun task. What does your map look like?
        B: Hello! Mine has many question marks. And yours?
        A: Mine too. What a pity.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "cells that do not touch",
        "one",
        None,
        """
        A: Rows and columns from 0: start (0,0), goal (3,4). I propose (0,2).
        B: Agreed, (0,2).
        A: Next (2,2).
        B: Agreed.
        A: Next (3,4).
        B: Agreed. MAZE FINISHED""",
    ),
]

HELD_OUT = [
    dialogue(
        "polite words",
        "five",
        "UULUUL",
        """
        A: Hi! From our start at the bottom right, how about we go up first?
        B: That works for me, up is open on my side.
        A: Great, so let's go up once more.
        B: Sure, let's do it.
        A: Now I think we should go left.
        B: Left works.
        A: Next I would go up.
        B: Works for me.
        A: Up again, please.
        B: Yes.
        A: And finally left to the goal.
        B: Perfect, yes. MAZE FINISHED""",
    ),
    dialogue(
        "arrows",
        "one",
        "RRDDDRR",
        """
        A: Zero-based (row, col). Plan: (0,0) → (0,1) → (0,2) → (1,2). Agree?
        B: Agree. Then (1,2) → (2,2) → (3,2)?
        A: Agree. Then (3,2) → (3,3) → (3,4)?
        B: Agree! MAZE FINISHED""",
    ),
    dialogue(
        "counted steps",
        "one",
        "RRDDDRR",
        """
        A: I suggest two steps right.
        B: Agreed, two steps right.
        A: Then three steps down.
        B: Agreed.
        A: Then two steps right.
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "squares, rows as letters",
        "four",
        "DDRRRDR",
        """
        A: Rows are letters A-F from the top, columns numbers 1-6 from the left. We start on C2, the goal is F6. Go to D2?
        B: D2, yes. Go to E2?
        A: E2, yes. Go to E3?
        B: E3, yes. Go to E4?
        A: E4, yes. Go to E5?
        B: E5, yes. Go to F5?
        A: F5, yes. Go to F6?
        B: F6, yes. MAZE FINISHED""",
    ),
    dialogue(
        "one based, row first, told late",
        "three",
        "LDLLDDR",
        """
        A: I propose moving to (1,3).
        B: Which cell is the start for you? For me it is (1,4), rows first, and the goal is (4,2).
        A: Same for me. So (1,3)?
        B: Agreed, (1,3). Next (2,3)?
        A: Agreed. Next (2,2)?
        B: Agreed. Next (2,1)?
        A: Agreed. Next (3,1)?
        B: Agreed. Next (4,1)?
        A: Agreed. Next (4,2)?
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "compass, refused once",
        "four",
        "DDR",
        """
        A: Let us head east.
        B: I can't agree, I am not sure. South looks safer.
        A: Okay, south it is.
        B: South again.
        A: Okay.
        B: East.
        A: Okay. MAZE FINISHED""",
    ),
    dialogue(
        "bottom left from one with x and y",
        "two",
        "RRUU",
        """
        A: x counts from the left and y from the bottom, both from 1: we are on (1,1), the goal is (5,5). Proposal: (2,1).
        B: Fine with me. Proposal: (3,1).
        A: Fine. Proposal: (3,2).
        B: Fine. Proposal: (3,3).
        A: Fine. MAZE FINISHED""",
    ),
    dialogue(
        "withdrawn after a doubt",
        "two",
        "RRU",
        """
        A: I propose right.
        B: Agreed.
        A: I propose up.
        B: Hmm, I see a wall there.
        A: Then I withdraw that. Right?
        B: Agreed.
        A: Up?
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "walking into a wall with cells",
        "one",
        "RRD",
        """
        A: (row, col) from zero. Start (0,0), goal (3,4). Next: (0,1).
        B: ok
        A: Next: (0,2).
        B: ok
        A: Next: (1,2).
        B: ok
        A: Next: (1,3).
        B: ok. MAZE FINISHED""",
        hit="right",
    ),
    dialogue(
        "letters U D L R",
        "three",
        "LDLLDDR",
        """
        A: Whole path: L D L L D D R
        B: Looks right to me, agreed.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "the partner repeats",
        "two",
        "RRUUU",
        """
        A: right
        B: right
        A: right
        B: right
        A: up
        B: up
        A: up
        B: up
        A: up
        B: up
        A: MAZE FINISHED""",
    ),
    dialogue(
        "numbered list of moves",
        "one",
        "RRDDDRR",
        """
        A: My plan:
        1. right
        2. right
        3. down
        4. down
        5. down
        6. right
        7. right
        What do you think?
        B: I checked it against my map and I agree with the plan.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "row and column words from zero",
        "five",
        "UUL",
        """
        A: We are at row 4, column 4 and want row 0, column 2. Next: row 3, column 4?
        B: Yes. Next: row 2, column 4?
        A: Yes. Next: row 2, column 3?
        B: Yes. MAZE FINISHED""",
    ),
    dialogue(
        "agreement comes one turn later",
        "four",
        "DD",
        """
        A: I propose down.
        B: What do you see two cells below us?
        A: A free cell. So, down?
        B: Yes, agreed.
        A: Down again?
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "bottom left cells, no goal, no words",
        "four",
        None,
        """
        A: I propose (3,2).
        B: Agreed. I propose (3,3).
        A: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "partners disagree about the start",
        "two",
        None,
        """
        A: We are at (5,0), so I propose (5,1).
        B: No, the start is (0,0) and y grows upwards. Anyway, agreed, (5,1).
        A: Next (5,2).
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "forward and back",
        "one",
        None,
        """
        A: Go forward.
        B: Agreed, forward.
        A: Turn and go forward twice.
        B: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "diagonal steps",
        "four",
        None,
        """
        A: Start (3,2), goal (6,6), row first from 1. I propose (4,3).
        B: Agreed, (4,3).
        A: Next (5,4).
        B: Agreed. MAZE FINISHED""",
    ),
]

LATER = [
    dialogue(
        "chatty with markdown",
        "one",
        "RRDDDRR",
        """
        A: Hi! Let me share my half of the maze using **0-indexed (row, col)** coordinates. The start is at (0,0) and the goal is at (3,4).
        I can see that (0,2) is a path and (1,2) is a path. I suggest we move **right** to (0,1). What do you think?
        B: Hello! On my map (0,1) is open, so I agree with moving right to (0,1). For the next step I propose moving right to (0,2).
        A: I agree, moving right to (0,2). Next, I propose moving down to (1,2).
        B: Agreed, (1,2). From there I propose down to (2,2), which is a path on my side.
        A: Agreed with (2,2). Next I propose down to (3,2).
        B: Agreed. (3,2) it is. Then right to (3,3).
        A: Agreed. And finally right to (3,4), the goal.
        B: Agreed! MAZE FINISHED""",
    ),
    dialogue(
        "maps shared before moving",
        "one",
        "RR",
        """
        A: My map is:
        @?.?.
        ?#?#?
        .?.?.
        ?#?.*
        .?.?.
        What is yours?
        B: Mine is:
        @.?#?
        #?.?.
        ?.?#?
        .?.?*
        ?.?.?
        So the first cell to the right of the start is open. Shall we go right?
        A: Yes, let's go right.
        B: Then right again?
        A: Yes.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "a wall blocks and another way is found",
        "four",
        "DDR",
        """
        A: From the start I would like to go right.
        B: I see an open cell there, but after that there's a wall, so it's a dead end. Let's go down instead.
        A: OK, down instead.
        B: Great, now down again.
        A: Agreed.
        B: Now right?
        A: Agreed.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "summaries with the path so far",
        "one",
        "RRD",
        """
        A: Move 1: right. Do you agree?
        B: Yes, I agree. Path so far: right. Move 2: right. Do you agree?
        A: Yes, I agree. Path so far: right, right. Move 3: down. Do you agree?
        B: Yes, I agree. Path so far: right, right, down.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "brackets",
        "one",
        "RRDD",
        """
        A: Using [row, column] with zero-based numbers, the start is [0, 0] and the goal [3, 4]. Proposed next cell: [0, 1].
        B: Confirmed. Proposed next cell: [0, 2].
        A: Confirmed. Proposed next cell: [1, 2].
        B: Confirmed. Proposed next cell: [2, 2].
        A: Confirmed. MAZE FINISHED""",
    ),
    dialogue(
        "not sure, then sure",
        "two",
        "RR",
        """
        A: I think we should move right.
        B: I'm not sure about that. What do you see further to the right?
        A: Two open cells.
        B: Alright, right is fine then.
        A: Right again.
        B: Fine.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "a question about both ways",
        "one",
        "R",
        """
        A: Should we go right or down?
        B: Down is a wall on my map. Right is open. So let's go right.
        A: Okay, right.
        B: MAZE FINISHED""",
    ),
    dialogue(
        "numbers in words",
        "two",
        "RRUUU",
        """
        A: Let's go right two times.
        B: Sounds good.
        A: Then up three times?
        B: Sounds good.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "agreement with a proviso and the next step",
        "five",
        "UUL",
        """
        A: We begin in the bottom-right corner. First step: up.
        B: Yes, up is clear for me. Second step: up.
        A: Yes, that's clear. Third step: left.
        B: Yes. MAZE FINISHED""",
    ),
    dialogue(
        "the partner refuses politely with a reason",
        "one",
        "RRD",
        """
        A: I propose right.
        B: I accept.
        A: I propose down.
        B: I have to decline, since there is a wall directly below us. I propose right.
        A: I accept.
        B: I propose down.
        A: I accept. MAZE FINISHED""",
    ),
    dialogue(
        "squares with lower case start",
        "one",
        "RRD",
        """
        A: Columns are A-E from left to right and rows 1-5 from top to bottom, so the start is A1 and the goal is E4. Let's go to B1.
        B: B1 is open on my map, agreed. Let's go to C1.
        A: C1 is open on my map too, agreed. Let's go to C2.
        B: C2 agreed. MAZE FINISHED""",
    ),
    dialogue(
        "position after every move",
        "two",
        "RRUU",
        """
        A: Coordinates are (row, column), starting at (0,0) in the top-left corner. We are at (5,0). Goal: (1,4). I propose moving right to (5,1).
        B: Agreed. Current position: (5,1). I propose moving right to (5,2).
        A: Agreed. Current position: (5,2). I propose moving up to (4,2).
        B: Agreed. Current position: (4,2). I propose moving up to (3,2).
        A: Agreed. Current position: (3,2). MAZE FINISHED""",
    ),
    dialogue(
        "retraction of an agreed step is not a step",
        "one",
        "RR",
        """
        A: right
        B: ok
        A: right
        B: ok
        A: right
        B: no, that is a wall.
        A: true. up?
        B: no.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "only the goal is named, on the diagonal",
        "two",
        None,
        """
        A: The goal is (4,4) and the start is (0,0). First (0,1)?
        B: Agreed. Then (0,2)?
        A: Agreed. MAZE FINISHED""",
    ),
    dialogue(
        "everything at once",
        "two",
        "RRUUURUR",
        """
        A: Directions: R, R, U, U, U, R, U, R. These eight moves bring us from the start to the goal according to my half.
        B: I have verified them on my half, and I approve all eight moves.
        A: MAZE FINISHED""",
    ),
    dialogue(
        "an offer is ignored",
        "one",
        "R",
        """
        A: I propose right.
        B: My map has many walls in the second row.
        A: I see. So right?
        B: Right it is.
        A: MAZE FINISHED""",
    ),
]
