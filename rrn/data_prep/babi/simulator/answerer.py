"""Answers bAbI questions from the text alone, with one small reader for each task.

It checks simulated and released stories independently: it shares no code, no state and no word list
with the simulator. A reader takes the sentences told before the question and the question. It
returns the answer, or None if the text does not give one.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rrn.data_prep.babi.stories import Story

Reader = Callable[[Sequence[str], str], str | None]

_MOVE = re.compile(r"(.*?) (?:moved|went|went back|journeyed|travelled) to the (\w+)\.")
_GET = re.compile(r"(\w+) (?:got|took|grabbed|picked up) the (\w+)(?: there)?\.")
_DROP = re.compile(r"(\w+) (?:dropped|left|discarded|put down) the (\w+)(?: there)?\.")
_GIVE = re.compile(r"(\w+) (?:gave|handed|passed) the (\w+) to (\w+)\.")


def answer(task: int, facts: Sequence[str], question: str) -> str | None:
    """Returns the answer to a question, or None if the facts do not give one."""
    try:
        return READERS[task](facts, question.rstrip("?"))
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError):
        return None  # a sentence has another shape than the released ones


def disagreements(story: Story) -> list[tuple[str, str, str | None]]:
    """Lists the (question, answer, the reader's answer) of a story where the two answers differ."""
    wrong = []
    for question in story.questions:
        found = answer(story.task, story.facts[: question.num_facts], question.text)
        if found != question.answer:
            wrong.append((question.text, question.answer, found))
    return wrong


def report(stories: Sequence[Story]) -> str:
    """Returns a table of how many questions each task has, and in how many the answers agree."""
    asked, wrong = Counter(), Counter()
    for story in stories:
        asked[story.task] += len(story.questions)
        wrong[story.task] += len(disagreements(story))
    lines = [f"{'task':>4}{'questions':>12}{'agree':>12}"]
    return "\n".join(lines + [f"{t:4}{n:12,}{n - wrong[t]:12,}" for t, n in sorted(asked.items())])


def _found(match: re.Match[str] | None) -> re.Match[str]:
    if match is None:
        raise ValueError("a sentence of another shape")
    return match


# People, places and things: tasks 1-3, 5-14.


def _moves(facts: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """Yields who moved where. A pronoun names those who moved in the sentence before."""
    movers: list[str] = []
    for fact in facts:
        if match := _MOVE.fullmatch(fact):
            who, place = match.groups()
            if who.split()[-1] not in ("he", "she", "they"):
                movers = who.split(" and ")
            yield movers, place


def _where_is_actor(facts: Sequence[str], question: str) -> str | None:
    actor = question.split()[-1]
    places = [place for movers, place in _moves(facts) if actor in movers]
    return places[-1] if places else None


def _is_actor_there(facts: Sequence[str], question: str) -> str | None:
    _, actor, *_, place = question.split()
    verdict = None
    for fact in facts:
        if not fact.startswith(actor):
            continue
        places = re.findall(r"the (\w+)", fact)
        if " either " in fact:
            # Also when both places are the same, as happens in the released stories.
            verdict = "maybe" if place in places else "no"
        elif re.search(r" is (not|no longer) in ", fact):
            verdict = "no" if place in places else None
        elif " is in " in fact or _MOVE.fullmatch(fact):
            verdict = "yes" if place in places else "no"
    return verdict


def _trail(facts: Sequence[str], thing: str) -> list[str]:
    """Returns the places where a thing is known to have been, in order, each stay once."""
    place_of: dict[str, str] = {}
    holder, trail = None, []
    for fact in facts:
        if match := _MOVE.fullmatch(fact):
            place_of[match[1]] = match[2]
        elif (match := _GET.fullmatch(fact)) and match[2] == thing:
            holder = match[1]
        elif (match := _DROP.fullmatch(fact)) and match[2] == thing:
            holder = None
        if holder in place_of and trail[-1:] != [place_of[holder]]:
            trail.append(place_of[holder])
    return trail


def _where_is_thing(facts: Sequence[str], question: str) -> str | None:
    trail = _trail(facts, question.split()[-1])
    return trail[-1] if trail else None


def _where_before(facts: Sequence[str], question: str) -> str | None:
    match = _found(re.fullmatch(r"Where was the (\w+) before the (\w+)", question))
    trail = _trail(facts, match[1])
    later = [before for before, place in itertools.pairwise(trail) if place == match[2]]
    return later[-1] if later else None


_WHO_GAVE = (  # a question that names some of giver, thing and receiver; which one it asks for
    (r"What did (?P<giver>\w+) give to (?P<receiver>\w+)", "thing"),
    (r"Who gave the (?P<thing>\w+) to (?P<receiver>\w+)", "giver"),
    (r"Who gave the (?P<thing>\w+)", "giver"),
    (r"Who received the (?P<thing>\w+)", "receiver"),
    (r"Who did (?P<giver>\w+) give the (?P<thing>\w+) to", "receiver"),
)
_ROLES = "giver", "thing", "receiver"  # in the order of `_GIVE`


def _who_gave(facts: Sequence[str], question: str) -> str | None:
    named, asked = next(
        (match.groupdict(), asked)
        for pattern, asked in _WHO_GAVE
        if (match := re.fullmatch(pattern, question))
    )
    for fact in reversed(facts):
        if match := _GIVE.fullmatch(fact):
            gift: dict[str, str] = dict(zip(_ROLES, match.groups(), strict=True))
            if all(gift[role] == name for role, name in named.items()):
                return gift[asked]
    return None


def _belongings(facts: Sequence[str], actor: str) -> list[str]:
    """Returns what the actor has, in the order of having it for the first time."""
    has: dict[str, bool] = {}
    for fact in facts:
        if (match := _GET.fullmatch(fact)) and match[1] == actor:
            has[match[2]] = True
        elif (match := _DROP.fullmatch(fact)) and match[1] == actor:
            has[match[2]] = False
        elif (match := _GIVE.fullmatch(fact)) and actor in (match[1], match[3]):
            has[match[2]] = match[3] == actor
    return [thing for thing, held in has.items() if held]


def _how_many(facts: Sequence[str], question: str) -> str | None:
    return ("none", "one", "two", "three")[len(_belongings(facts, question.split()[-2]))]


def _what_carried(facts: Sequence[str], question: str) -> str | None:
    return ",".join(_belongings(facts, question.split()[-2])) or "nothing"


_TIMES = ("yesterday", "this morning", "this afternoon", "this evening")


def _where_before_in_time(facts: Sequence[str], question: str) -> str | None:
    match = _found(re.fullmatch(r"Where was (\w+) before the (\w+)", question))
    visits = []
    for fact in facts:
        time = _found(re.search("|".join(_TIMES), fact.lower()))[0]
        if match[1] in fact:
            visits.append((_TIMES.index(time), _found(re.search(r"to the (\w+)", fact))[1]))
    places = [place for _, place in sorted(visits)]
    before = [a for a, b in itertools.pairwise(places) if b == match[2]]
    return before[-1] if before else None


# Directions and positions: tasks 4, 17, 19.

_SIDES = {
    "north of": (0, 1),
    "south of": (0, -1),
    "east of": (1, 0),
    "west of": (-1, 0),
    "above": (0, 1),
    "below": (0, -1),
    "to the right of": (1, 0),
    "to the left of": (-1, 0),
}
_SIDE = "|".join(_SIDES)


def _placed(facts: Sequence[str]) -> list[tuple[str, ...]]:
    pattern = re.compile(rf"The (.+) is ({_SIDE}) the (.+)\.")
    return [_found(pattern.fullmatch(fact)).groups() for fact in facts]


def _what_lies_there(facts: Sequence[str], question: str) -> str | None:
    if match := re.fullmatch(rf"What is ({_SIDE}) the (\w+)", question):
        side, known = match.groups()
        return next((a for a, s, b in _placed(facts) if (s, b) == (side, known)), None)
    known, side = _found(re.fullmatch(rf"What is the (\w+) ({_SIDE})", question)).groups()
    x, y = _SIDES[side]
    return next((a for a, s, b in _placed(facts) if b == known and _SIDES[s] == (-x, -y)), None)


def _is_beside(facts: Sequence[str], question: str) -> str | None:
    one, side, two = _found(re.fullmatch(rf"Is the (.+) ({_SIDE}) the (.+)", question)).groups()
    at = {one: (0, 0)}
    placed = _placed(facts)
    for _ in placed:
        for a, s, b in placed:
            dx, dy = _SIDES[s]
            if b in at:
                at.setdefault(a, (at[b][0] + dx, at[b][1] + dy))
            elif a in at:
                at[b] = (at[a][0] - dx, at[a][1] - dy)
    if two not in at:
        return None
    dx, dy = _SIDES[side]
    return "yes" if -dx * at[two][0] - dy * at[two][1] > 0 else "no"


def _path(facts: Sequence[str], question: str) -> str | None:
    asked = re.fullmatch(r"How do you go from the (\w+) to the (\w+)", question)
    start, goal = _found(asked).groups()
    letter = {side: name[0] for name, side in _SIDES.items() if name.endswith("h of")}
    letter |= {side: name[0] for name, side in _SIDES.items() if name in ("east of", "west of")}
    steps: dict[str, list[tuple[str, str]]] = {}
    for a, s, b in _placed(facts):
        x, y = _SIDES[s]
        steps.setdefault(b, []).append((letter[x, y], a))
        steps.setdefault(a, []).append((letter[-x, -y], b))
    paths = {start: []}
    for place in (queue := [start]):
        for step, following in steps.get(place, []):
            if following not in paths:
                paths[following] = [*paths[place], step]
                queue.append(following)
    return ",".join(paths[goal]) if goal in paths else None


# Sizes, kinds, motives: tasks 15, 16, 18, 20.


def _does_fit(facts: Sequence[str], question: str) -> str | None:
    def inside(sentence: str) -> tuple[str, str]:
        if match := re.fullmatch(
            r"(?:The|Does the) (.+) fits? (?:inside|in) the (.+?)\.?", sentence
        ):
            return match[1], match[2]
        match = re.fullmatch(r"(?:The|Is the) (.+?)(?: is)? bigger than the (.+?)\.?", sentence)
        return _found(match)[2], _found(match)[1]

    told = {inside(fact) for fact in facts}

    def reachable(small: str) -> set[str]:
        found = {small}
        while more := {b for a, b in told if a in found} - found:
            found |= more
        return found

    one, two = inside(question)
    if two in reachable(one):
        return "yes"
    return "no" if one in reachable(two) else None


def _afraid_of(facts: Sequence[str], question: str) -> str | None:
    singular = {"mice": "mouse", "wolves": "wolf", "cats": "cat", "sheep": "sheep"}
    name = question.split()[2]
    fears, kinds = {}, {}
    for fact in facts:
        subject, *_, last = fact.lower().rstrip(".").split()
        if " afraid of " in fact:
            fears[singular[subject]] = singular[last]
        else:
            kinds[subject] = last
    return fears.get(kinds.get(name))


def _what_colour(facts: Sequence[str], question: str) -> str | None:
    """Returns the colour of the last introduced other animal of the same kind."""
    name = question.split()[-1]
    kinds, colours = {}, {}
    for fact in facts:
        subject, *_, last = fact.rstrip(".").split()
        (kinds if " is a " in fact else colours)[subject] = last
    alike = [a for a, kind in kinds.items() if a != name and kind == kinds.get(name)]
    return colours.get(alike[-1]) if alike else None


_LEADS_TO = {"hungry": "kitchen", "thirsty": "kitchen", "bored": "garden", "tired": "bedroom"}


def _why(facts: Sequence[str], question: str) -> str | None:
    name = question.split()[2]
    moods = [f.rstrip(".").split()[-1] for f in facts if f.lower().startswith(f"{name} is ")]
    if not moods:
        return None
    return _LEADS_TO[moods[-1]] if question.startswith("Where") else moods[-1]


READERS: dict[int, Reader] = {
    1: _where_is_actor,
    2: _where_is_thing,
    3: _where_before,
    4: _what_lies_there,
    5: _who_gave,
    6: _is_actor_there,
    7: _how_many,
    8: _what_carried,
    9: _is_actor_there,
    10: _is_actor_there,
    11: _where_is_actor,
    12: _where_is_actor,
    13: _where_is_actor,
    14: _where_before_in_time,
    15: _afraid_of,
    16: _what_colour,
    17: _is_beside,
    18: _does_fit,
    19: _path,
    20: _why,
}
