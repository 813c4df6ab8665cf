"""The words by which clauses are told apart, as patterns; what they mean for a dialogue stands in `words`."""

from __future__ import annotations

import re

from emcoop.envs.maze.steps import CELL, COMPASS, NUMBER, UNIT


def _again(pattern: str) -> str:
    """The pattern without its names, for a second use in the same expression."""
    return re.sub(r"\?P<\w+>", "", pattern).replace("((", "(?:(") if "(?P<" in pattern else pattern


def _any(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_YES = (
    r"no (?:objections?|problems?|issues?|conflicts?|complaints?)|nothing against(?: (?:it|that))?|verified"
    r"|go(?:ing)? with (?:it|that|this)|approved?|go ahead|affirmative|roger|aye|yup|yea|ack"
    r"|yes|yeah|yep|ok|okay|agree|agrees|agreed|agreement|accept|accepts|accepted|fine|good(?! (?:day|morning"
    r"|evening|afternoon|luck|point|question|eye|news|to (?:know|hear|see)))|great(?! (?:question|to (?:know|hear"
    r"|see)|news))|super|cool|lovely"
    r"|excellent|wonderful|brilliant|confirm(?:ed|s)?|sure|works?|perfect(?:o)?|correct|exactly|deal|absolutely"
    r"|certainly|definitely|indeed|of course|gladly|with pleasure|makes sense|i'm (?:in|happy with|with you)"
    r"|let'?s do (?:it|that|this|so)"
    r"|(?:you are|you're|that's|that is|looks|all|is) right(?: to me)?|alright|done|i do(?=\s*[.!,]|$)|settled"
    r"|granted|endorsed?"
    r"|sounds (?:like a (?:plan|good)|reasonable|fine|perfect|wonderful|lovely)|all good|good by me|no worries"
    r"|seconded|same here|same for me|me too|likewise|ditto"
    r"|i second (?:it|that)|will do|i'?m (?:game|on board|in favou?r|okay with)|nothing wrong(?: with (?:it"
    r"|that))?|go for it|by all means|righto"
    r"|let'?s go (?:for|with) (?:it|that)"
    r"|i'?m with you|count me in|love it|suits me|so be it|be my guest|(?:it|that) goes well|d'accord|de acuerdo"
    r"|vale|oui|ja|claro|genau"
)
_NO = (
    r"no|nope|nah|declined?|disagree|refuse[ds]?|reject(?:ed|s)?|veto(?:ed)?|object(?:ed)?|denied"
    r"|(?:can'?t|cannot|can not|(?:do|does|is|would|are)n'?t|do not|won'?t|not|never)\s+(?:\w+\s+){0,2}?"
    r"(?:agree|accept|accepted|agreed|ok|okay|fine|good|work|do that|go there|possible|confirm)|won'?t work"
    r"|rather not|we can'?t(?=\W*$)"
)
_NOTHING = (
    r"(?:objections?|problems?|issues?|conflicts?|walls?|obstacles?|ideas?|more|need|other|doubt|information|worries"
    r"|particular|reason|rush|hurry|complaints?|longer|matter|way to|way of|cell|idea|one|clue)"
)
"""After "no" these refuse nothing."""
_BACK = (
    r"take (?:that|it|this) back|scratch (?:that|it)|withdraw(?: (?:that|it))?|i mean|i meant|correction"
    r"|forget (?:that|it)|never ?mind|i misspoke"
)
_PARDON = r"sorry|pardon|my mistake|oops"
"""These take something back only where something else follows at once."""
ACT = re.compile(
    rf"\b(?:(?P<thanks>(?:ok(?:ay)?|great|good|alright|fine|super|sure|yes),? (?:thanks|thank you|let me|let's see))"
    rf"|(?P<back>{_BACK})|(?P<pardon>{_PARDON})|(?P<no>(?!no {_NOTHING}\b)(?:{_NO}))"
    rf"|(?P<yes>(?<!not )(?<!n't )(?:{_YES})))\b"
    r"|^\W*(?P<y>(?:y|k|kk)(?=\s*(?:[.!,]|$)|\s(?!axis|[=is]+\b|and\b|\d|to\b|grow|count)))",
    re.IGNORECASE,
)
ASKED = re.compile(
    r"\b(?:(?:can|could|would|will|do|does|did|if|whether|until|once|unless|before|when|may|shall) "
    r"(?:you|we|i|they|both)(?: \w+)?|please(?: also)?(?: do)?|want (?:you )?to|need to|have to|to|your|for|any|the"
    r"|then we|should|must|let me|you(?:'ve| have)?(?: already| both| just)?|an?|very|so|as|how|more|some|of"
    r"|being|been|were|not yet|who|whoever|he|she|i'd|i would|would|did we|we can|we could|only)\s+$",
    re.IGNORECASE,
)
"""Before a word of agreement these ask for it, or talk of it, and do not give it."""
HAPPENED = re.compile(r"\b(?:just|already|we(?:'ve| have)?(?: both)?|both)\s+$", re.IGNORECASE)

ANCHOR = re.compile(
    r"(?:(?P<start>\b(?<!from the )(?<!from )(?:start|begin|beginning|starts|begins)\b(?!\s+(?:with|by|to)\b)"
    r"|(?<![\w'*@])[S@](?=\s*[=:]))"
    r"|(?P<goal>\b(?:goal|target|treasure|exit|want|get to|reach)\b|(?<![\w'*])[G*](?=\s*[=:]))"
    r"|(?P<claim>\bwe(?:'re| are| stand| were)\b(?: now| both| currently| standing)*))"
    rf"(?P<gap>[^()\[\]\n]{{0,40}}?){CELL}",
    re.IGNORECASE,
)
ORIGIN = re.compile(
    r"\b(?:origin|corner|(?:top|bottom|upper|lower)[- ](?:left|right)|starting (?:at|from|with))"
    rf"[^\w.!?;:\n]{{1,4}}(?:\w{{1,12}}[^\w.!?;:\n]{{1,4}}){{0,4}}?{CELL}"
    rf"|{_again(CELL)}\s?(?:is|=|at|in|being|as|for|on)?\s?(?:the |our |my )?"
    r"(?:origin|corner|(?:top|bottom|upper|lower)[- ](?:left|right))",
    re.IGNORECASE,
)
"""The cell that is counted from."""
STANDS = re.compile(r"\b(?:start|begin|we|we're|goal|target|[S@G*]\s*[=:])\b", re.IGNORECASE)
FROM = re.compile(
    rf"\b(?:from|near|beside|next to|neither|nor|like|contradicts?|your|about|between|including|except(?: for)?)\s+"
    rf"(?=(?P<it>{CELL}))",
    re.IGNORECASE,
)
"""A cell after these is no step."""
LEADS = re.compile(r"\b(?:then|next|finally|lastly)\W+(?:\w+\s+){0,3}$", re.IGNORECASE)
"""After these words even the goal is a step, unless it is said where it is."""
GAP_STOP = re.compile(
    r"\b(?:propos\w+|suggest\w*|next|go|move|then|goal|start|path|first|not|walls?|if|yes|ok|agreed|from|step)\b"
    r"|[.!?;•]",
    re.IGNORECASE,
)
SAID_AFTER = re.compile(rf"(?P<it>{CELL})\s*(?:is|as|=)\s*(?:our |the )?(?P<what>start|goal)\b", re.IGNORECASE)
"""The start or the goal, named after its cell."""

SEES = re.compile(
    r"\b(?:walls?|free|open|blocked|hidden|unknown|clear|see|sees|saw|seeing|floor|rock|dots?|hash(?:es)?|empty"
    r"|only way|other way|ways|passable|obstacles?|visible|safe|dead ends?|shows?|showed|question marks?|walkable"
    r"|path cells?|reads?|contents?"
    r"|there(?:'d|'s| is| are| would be)|so (?:is|are)|barrier|corridor|impassable|solid)\b|#",
    re.IGNORECASE,
)
GOES = re.compile(
    r"\b(?:go|going|move|moving|propos\w+|suggest\w*|head|heading|step|let'?s|let us|shall|should|how about|try"
    r"|what about|p|proposed|agree\w*|walk|take|taking|prefer|continue|recommend|vote)\b",
    re.IGNORECASE,
)
BLOCKED = re.compile(
    r"(?<!no )(?<!not a )(?<!n't a )(?<!any )\b(?:walls?|blocked|dead ends?|obstacles?|hits?|stuck|leads away"
    r"|impassable|(?<!anything )(?<!nothing )wrong|misread|bad|worse|risky|dangerous|useless|pointless|incorrect"
    r"|mistake\w*|isn't|aren't|can't)\b|#"
    r"|❌|🧱",
    re.IGNORECASE,
)
CANNOT = re.compile(
    r"\b(?:can'?t|cannot|won'?t|wouldn'?t|doesn'?t|don'?t|isn'?t|not|never)\s+(?:\w+\s+){0,2}?"
    r"(?:work|possible|good|an option|help|go|be (?:right|possible)|allowed|come)\b",
    re.IGNORECASE,
)
GERUND = re.compile(r"\b(?:go|mov|head)ing\b(?![^,]*\b(?:propos|suggest|let'?s|shall|should|agree))", re.IGNORECASE)
TERSE = re.compile(r"\W*(?:(?:ok(?:ay)?|k|y|yes|n|no|then|and|again|now|next|goal|[udlr])\b\W*)+", re.IGNORECASE)
"""Only such words, among which single letters are steps."""
ALSO = re.compile(r"\b(?:also|too|as well|likewise)\b", re.IGNORECASE)
OFFERS = re.compile(
    r"\b(?:options?|plan|idea|path|route|proposal|moves|steps|ways?|suggest\w*|choices|none|no)\b", re.IGNORECASE
)
ORDINAL = re.compile(
    r"\b(?P<n>(?:step|move|no\.?|number)\s*#?\d{1,2}|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth"
    r"|tenth)\b"
    r"(?!\s+(?:row|column|line|cell|rank|file|one|half))",
    re.IGNORECASE,
)
NAMES = _any(
    r"rows", r"columns", r"x", r"y", r"origin", r"counts?", r"coordinates?", r"numbered", r"number", r"board", r"based",
    r"axis", r"grows?", r"strategy", r"strategies", r"tactics?", r"label", r"legend", r"stands? for", r"indexed",
    r"notation",
)  # fmt: skip
RELATIVE = re.compile(
    r"\b(?:forwards?|backwards?|turn around|(?:go|keep|continue|move|walk|carry on|straight) (?:straight|ahead"
    r"|on ahead)"
    r"|turn(?:ing)? (?:to the )?(?:left|right)|facing)\b(?! (?:down|up|left|right|to)\w*)(?<!look forward)"
    r"(?<!looking forward)",
    re.IGNORECASE,
)
CORNER = re.compile(
    r"\b(?:top|bottom|upper|lower)[\s-]+(?:left|right)\b(?:[\s-]+(?:corner|hand)\w*)?"
    r"|\b(?:north|south)[\s-]?(?:east|west)(?:ern)?\b",
    re.IGNORECASE,
)
SIDE = re.compile(
    r"\bfrom\s+(?:the\s+)?(?:top|bottom|left|right|above|below|north|south|east|west)(?:\s+(?:to|and)\s+(?:the\s+)?"
    r"(?:top|bottom|left|right|down|up))?\b|\b\d+ (?:turns?|moves?|messages?|steps?) left\b"
    r"|\b(?:left|right)\s+to\s+(?:right|left)\b|\btop(?:\s+to\s+|-)(?:bottom|down)\b|\bbottom(?:\s+to\s+|-)(?:top|up)\b"
    r"|\b(?:left|right|up|down|north|south|east|west)(?:most|ern|-hand)?\s+(?:side|edge|column|corner|half|part|end"
    r"|border|neighbou?r|hand|map|one|wall|cells?|squares?|boundary|branch|order|choice|thing|idea|here\s+is)\b"
    r"|\b(?:on|at)\s+(?:the|my|our|your|its|their)\s+(?:(?:far|very)\s+)?(?:left|right|north|south|east|west)\b",
    re.IGNORECASE,
)
IDIOM = re.compile(
    rf"\bafter\s+(?:we\s+)?(?:go|mov|step|head)\w*\s+(?:to\s+the\s+)?(?:{COMPASS})\b(?:\s+(?:twice|thrice"
    rf"|{NUMBER}\s+\w+))?|"
    r"\b(?:left|right)[- ]hand(?:ed)?\b(?: (?:rule|side|wall))?|"
    r"\b(?:sum|wrap|set|give|look|pick|end|catch|follow|hurry|speed|keep|show|line|double|back|open|free|clear"
    r"|mix|match"
    r"|meet|team|bring|read|use|add|pop|wake|turn|come|what's|made|make)(?:s|ed|ing)?\s+(?:it\s+|that\s+|this\s+)?up\b"
    r"|\b(?:break|write|note|slow|narrow|put|calm|jot|written|wrote|track|let|sit|lay|boil)\w*\s+(?:it\s+|that\s+"
    r"|this\s+|you\s+)?down\b"
    r"|(?<!about )(?<!go )(?<!move )\bright\s+now\b|\b(?:left|right|north|south|east|west)\s+of\b"
    r"|\bright\s+(?:away|track|place|answer|direction|after|before|there)\b"
    r"|\b(?:nothing|none|what's|is|are|have|has|anything|something|time|turns?|messages?|we've"
    r"|no \w+)\s+left\b(?!\s+of)"
    r"|\b(?:is|are|was|were)\s+down\s+there\b|\b(?:got|have|had|get)\s+(?:it|that|this)\s+right\b"
    r"|\bup\s+to\b(?!\s+(?:the\b|row|[(\[]))"
    r"|\bleaving?\s+it\b|\bleft\s+(?:it|this|that|out|over)\b|\bstep\s+up\b(?=\s+from)",
    re.IGNORECASE,
)
PLACE = re.compile(
    r"\b(?:cells?|squares?|walls?|fields?|spots?|spaces?|tiles?|goal|start|exit|target|neighbou?rs?|rest|anything"
    r"|something"
    r"|what|everything|thing)(?:'s|\s+(?:is|are|lies?|lie|sits|must\s+be|should\s+be|just|directly|immediately|further"
    r"|down|up|there|right|left|or\s+two|two|three|cells?|one|far|somewhere|away|to\s+our|on\s+the)){0,4}"
    rf"\s+(?:to\s+(?:the|our|my|your)\s+|towards?\s+the\s+|in\s+the\s+|on\s+(?:the|our|my)\s+)?(?:{COMPASS})\b"
    rf"|\b(?:which|it|that|goal|columns?|rows?)(?:'s|\s+is|\s+are|\s+lies)?\s+to\s+the\s+(?:left"
    rf"|right)(?:\s+and\s+(?:up|down))?"
    rf"|\b(?:goal|target|exit)\s+(?:is|lies)\b[^,.;:]{{0,20}}\b(?:{COMPASS})\b",
    re.IGNORECASE,
)
"""Where something lies, by a direction."""

WHOLE = re.compile(
    r"\b(?:whole|full|entire|final|complete)\s+(?:path|way|route)\b|\bfrom the start\b|\bfrom start\b", re.IGNORECASE
)
ANEW_FROM_START = re.compile(
    r"\bfrom (?:the )?start\b|\bfrom scratch\b|\bstart(?:ing)? over\b|\ball over\b", re.IGNORECASE
)
JOINS = re.compile(
    r"^\W*(?:and|plus)\b|\b(?:then(?!\W*$)|next|after(?: that)?|followed|finally|afterwards|and (?:once|one|again|also)"
    r"|once more|one more|as well"
    r"|too|lastly|from there|further)\b",
    re.IGNORECASE,
)
COUNTER = re.compile(
    r"\b(?:instead|rather|prefer|actually|better|still|counter\w*|alternativ\w*|but|my (?:own )?(?:first )?"
    r"(?:proposal|suggestion|choice|plan)|i (?:propose|suggest|vote|say)|i'd (?:propose|suggest|go|say|like)|hmm|wait"
    r"|however|why not|how about|what about|let me (?:propose|suggest)|new|misread)\b"
    r"|^\W*(?:p|propose|proposed|proposal|my move)\s*:",
    re.IGNORECASE,
)
UNDECIDED_PIECE = r"(?:[^,.!?;:\n()\[\]]|[(\[][^()\[\]]{0,20}[)\]])*"
"""What goes on up to the next comma that does not stand in a cell."""
UNDECIDED = re.compile(
    r"\b(?:(?:not|don'?t|doesn'?t)\s+(?:\w+\s+){0,2}?(?:sure|certain|know)|unsure|uncertain|unclear|no idea"
    r"|hard to (?:tell|say)|(?:can'?t|cannot|can not) (?:tell|say|confirm|judge|verify|see)"
    r"|let me (?:think|check|see|look|verify|read|count|double-check)"
    rf"|(?:i|we)(?: have|'ve)? (?:considered|ruled out|thought (?:about|of)|looked at))\b{UNDECIDED_PIECE}",
    re.IGNORECASE,
)
SUPPOSED = re.compile(
    r"(?<!what )\bif (?:we|i|you) (?:go|went|moved?|take|took|step|try|did|were|had|could|write|count|use|call)\b"
    r"(?=[^.!?;\n]*\b(?:walls?|blocked|hit|stuck|away|dead end|would|could|'d|need|lose|brings?)\b)[^.!?;\n]*"
    r"|\bif\b[^.!?;\n]{0,80}\b(?:were|was|isn't|is not|turns? out|happens?)\b[^.!?;\n]*",
    re.IGNORECASE,
)
INSTEAD = re.compile(
    rf"(?<!why )\b(?:instead of|rather than|other than|not|no to|never|without|before|avoid|(?:do|should|could"
    rf"|would|wo)(?:n't| not))\s+"
    rf"(?:(?:go|going|move|moving|to|the|a|one)\s+){{0,3}}(?:(?:{COMPASS})\b|{CELL})(?!\s*(?:walls?|hidden))",
    re.IGNORECASE,
)
HISTORY = re.compile(
    r"\b(?:so far|we(?:'ve| have)?(?: both| already| just)* agreed (?:to|on|upon)|recap\w*|summary|summari\w+"
    r"|(?:our|the agreed|agreed|as agreed,? (?:our|the)) (?:(?!next|own|new)[a-z]+ )?(?:path|route|way|moves"
    r"|sequence|trail)"
    r"(?= (?:was|is|in full)\b|\s*[:=])|(?:path|route|way|moves|word) (?:so far|taken)|(?:we|i)(?:'ve| have| had)?"
    r" (?:gone|went|moved|taken|took|made|walked|done|been|came|come|did)|altogether)\b",
    re.IGNORECASE,
)
PROVIDED = re.compile(
    r"[\s,]*(?:(?!know|tell|see|check|say|ask)\w+\s+){0,4}(?:if|provided|as long as|unless|assuming)\b", re.IGNORECASE
)
AGREED_TO = re.compile(r"[\s:]+(?:to|with|on|:)?\s*(?:(?:the|going|moving|go|move|to|with)\s+)*", re.IGNORECASE)
ANEW = re.compile(r"\b(?:again|another|more|(?<!for )now|also)\b", re.IGNORECASE)
PARTLY = re.compile(
    rf"\b(?:only|just|except|part(?:ly|ially)?|but not|in general|in principle|(?:the )?first (?:few|half|part)"
    rf"|first (?P<first>{NUMBER}))\b",
    re.IGNORECASE,
)
CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
REASONS = re.compile(
    r"\b(?:since|because|but|while|although|though|as(?!\s+(?:well|open|free|an?|walls?|blocked|hidden|far|long|soon"
    r"|the|our|your|my|first|in)\b))\b",
    re.IGNORECASE,
)
BECAUSE = re.compile(r"^\W*(?:since|because|although|though|while|as)\b", re.IGNORECASE)
PIECES = re.compile(
    r",(?![^()\[\]]{0,12}[)\]])|\s[—–-]+\s|:|…|\b(?:so|if|hence|therefore|thus|which|and (?=(?:i|we|it|let|you"
    r"|then|go)\b))\b"
)
ARRIVED = re.compile(
    r"\b(?:that's|that is|this is|which is|we're (?:at|on)|we are (?:at|on)|reach(?:ed|es)?|(?:in|on)?to|onto|at)"
    r"\s+(?:our |the )?(?:goal|target|treasure|exit)\b|[=:(–-]\s*(?:the )?goal\b",
    re.IGNORECASE,
)
ASKS_WHERE = re.compile(r"^\W*(?:and\s+)?(?:what(?! about| if)|where|which|who|whose|how many)\b", re.IGNORECASE)
THERE = re.compile(
    r"\b(?:go|move|step|head)(?:ing)? (?:there|to (?:it|that one|that cell|that))\b"
    r"|\b(?:let'?s|we|i'd|i would|could|should) (?:\w+ )?(?:take|use|try) (?:that|it|this)(?: one| cell| step| move)?"
    r"(?: too| as well| next)?(?=\W|$)",
    re.IGNORECASE,
)
AGAIN = re.compile(
    r"^\W*(?:(?:and|then|yes|ok|okay|now|so|agreed|good|great|please|let's|do|go|move|take)\W+){0,3}"
    r"(?:once more|again|one more(?: time)?|the same(?: again| once more| way)?|same(?: again)?|another(?: one)?"
    r"|(?P<twice>two more(?: times)?|twice more))(?:\W+(?:then|please|now|that way|too))?\W*$",
    re.IGNORECASE,
)
OPTION = re.compile(
    r"\b(?:option|plan|variant|route|path|way|alternative|choice|idea)\s+(?P<label>[A-D1-5]|one|two|three)\b(?!\s*%)",
    re.IGNORECASE,
)
AFFIRMS = re.compile(
    r"^\W*right,\s+(?!(?:and|then|again|please|right|too|also|once|as|if|to|i (?:agree|accept|propose"
    r"|suggest))\b)\w+\W+\w+",
    re.IGNORECASE,
)
"""A "right" that affirms."""
EXAMPLE = re.compile(
    r"\b(?:for example|for instance|e\.g|such as|imagine|in theory|let's say|suppose(?:dly)?|you could answer)\b",
    re.IGNORECASE,
)
"""What stands in such a clause is not meant."""
ACCEPTABLE = re.compile(
    r"\b(?:ok|okay|agree\w*|fine|good|works?|right|confirm|think|say|deal|possible|objections?|accept\w*|happy"
    r"|sounds?|ready"
    r"|verify|check|shall|go|let's|what|which|where|how|why|who)\b",
    re.IGNORECASE,
)
"""A question with these asks for agreement, or for more than yes or no."""
YES = re.compile(
    r"(?:yes|yeah|yep|yup|correct|exactly|sure|indeed|right|y|it is|absolutely|certainly|of course)\b", re.IGNORECASE
)
STRONG = re.compile(
    r"\b(?:agree\w*|accept\w*|confirm\w*|approve\w*|yes|yep|yeah|ack|affirmative|granted|deal)\b", re.IGNORECASE
)
DOUBTS = re.compile(
    r"\b(?:anything wrong|any(?:thing)? (?:objections?|problems?|against)|objections?|mind if|do you mind)\b",
    re.IGNORECASE,
)
"""To a question with these "yes" is no agreement."""
HEDGES = re.compile(r"\b(?:maybe|perhaps|possibly|might)\b", re.IGNORECASE)
APART = re.compile(
    r"\bI(?:'m| am)(?: now| still| currently)? (?:at|on|in) (?=[(\[]|[A-J]\d|row|column)|\bmy (?:current )?position\b"
    r"|\bI(?:'ve| have)? (?:just )?(?:moved|went|gone|walked|stepped)\b|\byou (?:stay|are at|wait there)\b"
    r"|\byour (?:current )?position\b|\b(?:meet|wait for) (?:you|me)\b|\bi'll wait for\b",
    re.IGNORECASE,
)
"""Who speaks so takes each for a walker of its own."""
HOLDS = re.compile(
    r"\b(?:hm+|wait|hold|let me|moment|(?:a|one) second|unsure|day|morning|evening|afternoon|partner|friend|team"
    r"|ready|probably|late|over|lost|position|think\w*|check(?!ed)\w*|look\w*|know|need|before|thanks?|thank you"
    r"|maybe|later|why|what|where|which"
    r"|when|who|how|interesting|question|understand|understood|hello|hi|hey|not|nor|neither|never|stop|please"
    r"|reason|next"
    r"|could|would|if|tell|ask|message|messages|time|welcome|sorry|apolog\w+|help\w*|unless)\b"
    r"|n't\b|\b(?:answer\w*|you (?:propose|start|begin))\b|^\W*(?:step|move) \d{1,2}\W*$",
    re.IGNORECASE,
)
"""A clause with one of these may leave a proposal open; one without any that is not understood may be an answer."""
STANDS_FOR = re.compile(
    r"\b(?:my|mine|our|here|there|this|that|in|on|at|from|for|i|we|to|of|by|also)\b|:$", re.IGNORECASE
)
COUNTED = re.compile(rf"(?<!first )(?<!last )\b({NUMBER})\s+{UNIT}\b(?! left)", re.IGNORECASE)
GAP = re.compile(
    r"[\s,→>-]*(?:(?:and|then)\s+)?(?!(?:we|i|it|that|this|as|so|to|if|which|again|please|now|too|once|twice|then"
    r"|okay|the goal)\b)"
    r"(?:the\s+)?[a-z-]{3,}(?:\s+[a-z]+)?(?:\s+(?:and|then))?[\s,.!?→>-]*",
    re.IGNORECASE,
)
"""What stands between two steps of a list, or after the last, and might be one more."""
VAGUE = re.compile(
    r"\b(?:all the way|until|till|as far as|along the (?:top|bottom|edge|wall|border|left|right|side)|around"
    r"|several|a few|diagonal\w*|some (?:steps|cells)|somewhere"
    r"|in between|the rest|and so on|etc|as you said|like that"
    r"|in reverse|backtrack\w*|the other (?:way|side))\b",
    re.IGNORECASE,
)
"""How far, or by which cells, is not said."""
