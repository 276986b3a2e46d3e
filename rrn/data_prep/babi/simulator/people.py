"""Tasks 1-3 and 5-14: people who move about and take things along.

A story alternates rounds of two facts with questions. A question starts from one of the last five
clauses, drawn at random: it is about that clause's actor, object or handing-over. If no question
can be asked about any of the five, two more facts are told first.

An `ask` function receives the tale, the world and the drawn clause. It derives the answer from the
clauses told so far, asks the task's question and returns True, or it returns False if that question
cannot be asked about this clause. The supporting facts are those of the clauses that the derivation
used.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rrn.data_prep.babi.simulator.telling import Clause, Dice, Tale
from rrn.data_prep.babi.simulator.world import (
    GO,
    OBJECTS,
    PEOPLE,
    ROOMS,
    TOWN,
    TOWNSPEOPLE,
    TRADERS,
    World,
)

NUM_QUESTIONS = 5
WINDOW = 5  # a question starts from one of the last clauses, as many as this
COUNT = ("none", "one", "two", "three")
TIMES = ("yesterday", "this morning", "this afternoon", "this evening")

Ask = Callable[[Tale, World, Clause], bool]


@dataclass(frozen=True)
class Setting:
    """How a task's stories go.

    Attributes:
      events: the names of the events that a fact may tell.
      ordered: whether the two facts of a round tell the two events in turn. Otherwise each fact's
        event is drawn, all equally likely.
      there: the probability that a fact about taking something ends with "there".
    """

    ask: Ask
    events: tuple[str, ...]
    ordered: bool = False
    actors: tuple[str, ...] = PEOPLE
    places: tuple[str, ...] = ROOMS
    there: float = 1.0


def people_story(setting: Setting, dice: Dice) -> Tale:
    """Tells a story in rounds of two facts until enough questions are asked."""
    tale = Tale(dice)
    world = World(tale, setting.actors, setting.places, setting.there)
    happen = [getattr(world, event) for event in setting.events]
    while len(tale.questions) < NUM_QUESTIONS:
        for i in range(2):
            while not (happen[i] if setting.ordered else dice.pick(happen))():
                pass
        for clause in dice.shuffled(tale.clauses[-WINDOW:]):
            if setting.ask(tale, world, clause):
                break
    return tale


# Where somebody is: tasks 1, 6, 9-13.


def _whereabouts(tale: Tale, actor: str) -> Clause | None:
    """Returns the last clause that says where the actor is."""
    clauses = (c for c in reversed(tale.clauses) if c.actor == actor)
    return next((c for c in clauses if c.verb in ("go", "is", "leave", "either")), None)


def ask_where_actor(tale: Tale, world: World, clause: Clause) -> bool:
    """Asks "Where is Mary?". The answer is the place of her last move.

    If that move names her by a pronoun, the fact that the pronoun refers to is supporting, too.
    """
    known = _whereabouts(tale, clause.actor)
    assert known is not None  # here every event tells where its actor is
    support = [known.fact] if known.before is None else [known.before, known.fact]
    tale.ask(f"Where is {clause.actor}?", known.what, support)
    return True


def ask_whether_there(tale: Tale, world: World, clause: Clause) -> bool:
    """Asks "Is Mary in the garden?". The answer is yes, no, or maybe.

    If the last fact about her place says where she is not, the question names that place. Otherwise
    half of the questions name the place where she is.
    """
    if clause.verb in ("get", "drop"):
        return False
    known = _whereabouts(tale, clause.actor)
    assert known is not None  # the clause itself, at least
    if known.verb == "leave":
        place = known.what
    elif tale.dice.chance(0.5):
        place = world.place[clause.actor]
    else:
        place = tale.dice.other(world.places, than=world.place[clause.actor])
    tale.ask(f"Is {clause.actor} in the {place}?", _is_there(known, place), [known.fact])
    return True


def _is_there(known: Clause, place: str) -> str:
    if known.verb == "either":
        return "maybe" if place in (known.what, known.other) else "no"
    return "yes" if known.verb in ("go", "is") and known.what == place else "no"


# Where things are and were: tasks 2, 3.


def _last_handling(tale: Tale, clause: Clause) -> int | None:
    """Returns the clause's position if it is the last to get or drop its object, else None."""
    if clause.verb not in ("get", "drop"):
        return None
    for i in reversed(range(len(tale.clauses))):
        if tale.clauses[i].what == clause.what:
            return i if tale.clauses[i].fact == clause.fact else None
    return None


def _moves_back(tale: Tale, actor: str, end: int) -> Iterator[Clause]:
    """Yields the actor's moves before position `end`, the latest first."""
    for i in reversed(range(end)):
        if tale.clauses[i].actor == actor and tale.clauses[i].verb == "go":
            yield tale.clauses[i]


def ask_where_object(tale: Tale, world: World, clause: Clause) -> bool:
    """Asks "Where is the milk?".

    The answer is where its holder went after taking it, or where he was when he dropped it.
    """
    position = _last_handling(tale, clause)
    if position is None:
        return False
    end = len(tale.clauses) if clause.verb == "get" else position
    move = next(_moves_back(tale, clause.actor, end), None)
    if move is None or (clause.verb == "get" and move.fact < clause.fact):
        return False
    tale.ask(f"Where is the {clause.what}?", move.what, [clause.fact, move.fact])
    return True


def ask_where_before(tale: Tale, world: World, clause: Clause) -> bool:
    """Asks "Where was the milk before the garden?".

    The answer is the stop before the garden on the trip of the last person who carried the milk. A
    trip begins when the object is taken. Of several visits to a place on the trip, only the last
    one is asked about.
    """
    position = _last_handling(tale, clause)
    if position is None:
        return False
    taken = position
    while (tale.clauses[taken].verb, tale.clauses[taken].what) != ("get", clause.what):
        taken -= 1
    end = len(tale.clauses) if clause.verb == "get" else position
    start = tale.clauses[taken].fact
    trip = [move for move in _moves_back(tale, clause.actor, end) if move.fact > start]
    steps = [
        (now, before)
        for i, (now, before) in enumerate(itertools.pairwise(trip))
        if all(later.what != now.what for later in trip[:i])
    ]
    if not steps:
        return False
    now, before = tale.dice.pick(steps)
    tale.ask(
        f"Where was the {clause.what} before the {now.what}?",
        before.what,
        [clause.fact, now.fact, before.fact],
    )
    return True


# Who gave what to whom, and who has what: tasks 5, 7, 8.


def ask_who_gave(tale: Tale, world: World, clause: Clause) -> bool:
    """Asks "Who gave the milk to Fred?" or another question about an object's last handing-over.

    "What did Bill give to Fred?" is asked only if Bill has given Fred nothing else since, because
    the question would then have two answers.
    """
    if clause.verb != "give":
        return False
    gifts = [c for c in tale.clauses if c.verb == "give"]
    gift = next(c for c in reversed(gifts) if c.what == clause.what)
    giver, thing, receiver = gift.actor, gift.what, gift.other
    who = (f"Who gave the {thing}?", giver), (f"Who gave the {thing} to {receiver}?", giver)
    whom = (
        (f"Who did {giver} give the {thing} to?", receiver),
        (f"Who received the {thing}?", receiver),
    )
    forms = [who, whom]
    if gift == next(c for c in reversed(gifts) if (c.actor, c.other) == (giver, receiver)):
        forms.append(((f"What did {giver} give to {receiver}?", thing),))
    text, answer = tale.dice.pick(tale.dice.pick(forms))
    tale.ask(text, answer, [gift.fact])
    return True


def _belongings(tale: Tale, actor: str) -> tuple[dict[str, list[int]], list[str]]:
    """Returns the facts about each object that the actor ever had, and the objects he has now.

    Both are in the order in which he first had them.
    """
    facts, has = {}, {}
    for clause in tale.clauses:
        if clause.what in OBJECTS and actor in (clause.actor, clause.other):
            facts.setdefault(clause.what, []).append(clause.fact)
            gains = clause.verb == "get" or clause.other == actor
            has[clause.what] = gains
    return facts, [thing for thing in facts if has[thing]]


def ask_how_many(tale: Tale, world: World, clause: Clause) -> bool:
    """Asks "How many objects is Mary carrying?".

    Every fact about an object that she got, dropped, gave or received is supporting.
    """
    if clause.what not in OBJECTS:
        return False
    facts, has = _belongings(tale, clause.actor)
    support = sorted(fact for told in facts.values() for fact in told)
    tale.ask(f"How many objects is {clause.actor} carrying?", COUNT[len(has)], support)
    return True


def ask_what_carried(tale: Tale, world: World, clause: Clause) -> bool:
    """Asks "What is Mary carrying?".

    The answer lists the objects in the order in which she first had them.
    """
    if clause.what not in OBJECTS:
        return False
    facts, has = _belongings(tale, clause.actor)
    support = [fact for told in facts.values() for fact in told]
    tale.ask(f"What is {clause.actor} carrying?", ",".join(has) or "nothing", support)
    return True


SETTINGS = {
    1: Setting(ask_where_actor, ("go",)),
    2: Setting(ask_where_object, ("go", "get", "drop")),
    3: Setting(ask_where_before, ("go", "get", "drop"), there=0.2),
    5: Setting(ask_who_gave, ("go", "get", "drop", "give"), actors=TRADERS),
    6: Setting(ask_whether_there, ("go", "get", "drop")),
    7: Setting(ask_how_many, ("go", "get", "drop", "give")),
    8: Setting(ask_what_carried, ("go", "get", "drop")),
    9: Setting(ask_whether_there, ("go", "go", "appear", "leave")),
    10: Setting(ask_whether_there, ("go", "go", "appear", "hide"), actors=TOWNSPEOPLE, places=TOWN),
    11: Setting(ask_where_actor, ("go", "go_on"), ordered=True),
    12: Setting(ask_where_actor, ("go_together",)),
    13: Setting(ask_where_actor, ("go_together", "go_on"), ordered=True),
}


# Task 14: moves told with their time of day, out of order.


def timeline_story(dice: Dice) -> Tale:
    """Tells a story of task 14, which asks "Where was Bill before the school?".

    The answer is the stop before his last visit there, by the times told. Every actor makes at most
    one move at each of four times. The moves between two questions are told in the order of a
    random cycle, so two moves are always told the wrong way round. The first question is asked when
    somebody has made a second move.
    """
    tale = Tale(dice)
    paths: dict[str, list[str]] = {actor: [] for actor in TOWNSPEOPLE}
    fact_of: dict[tuple[str, int], int] = {}
    happened, untold = [], []
    while len(tale.questions) < NUM_QUESTIONS:
        for _ in range(2):  # somebody goes to another place at his next time
            actor = dice.pick([a for a, path in paths.items() if len(path) < len(TIMES)])
            path = paths[actor]
            path.append(dice.other(TOWN, than=path[-1] if path else ""))
            untold.append((actor, len(path) - 1))
        happened += untold[-2:]
        visit = _visit_to_ask(dice, paths, happened[-WINDOW:])
        if visit is None:
            continue
        for actor, time in dice.cycled(untold):
            move, when = f"{actor} {dice.pick(GO)} the {paths[actor][time]}", TIMES[time]
            timed = f"{move} {when}." if dice.chance(0.5) else f"{when.capitalize()} {move}."
            fact_of[actor, time] = tale.tell(timed)
        untold = []
        actor, time = visit
        tale.ask(
            f"Where was {actor} before the {paths[actor][time]}?",
            paths[actor][time - 1],
            [fact_of[actor, time], fact_of[actor, time - 1]],
        )
    return tale


def _visit_to_ask(
    dice: Dice, paths: dict[str, list[str]], moves: list[tuple[str, int]]
) -> tuple[str, int] | None:
    """Returns one of the moves that has a stop before it and none at the same place after it."""
    askable = [
        (a, time) for a, time in moves if time and paths[a][time] not in paths[a][time + 1 :]
    ]
    return dice.pick(askable) if askable else None
