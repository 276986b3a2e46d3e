"""Tasks 4 and 15-20: maps, shapes, sizes, kinds, colours and motives.

Each function tells one story and derives every answer from the facts told. If a question is about
a relation that no fact states, the answer is inferred from several facts, which support it.
"""

from collections.abc import Sequence

from rrn.data_prep.babi.simulator.telling import Dice, Tale
from rrn.data_prep.babi.simulator.world import GET, GO, ROOMS

OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
STEP = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
SIDE = {"north": "above", "south": "below", "east": "to the right of", "west": "to the left of"}


# Maps: tasks 4, 17, 19. A map holds the neighbours of every place by direction.

Map = dict[str, dict[str, str]]


def _link(neighbours: Map, place: str, direction: str, other: str) -> None:
    neighbours.setdefault(place, {})[direction] = other
    neighbours.setdefault(other, {})[OPPOSITE[direction]] = place


def _line(dice: Dice, names: Sequence[str]) -> Map:
    """Returns a map of three places, straight or bent, with the last name in the middle."""
    neighbours: Map = {}
    for end, direction in zip(names[:2], dice.shuffled(tuple(OPPOSITE)), strict=False):
        _link(neighbours, names[2], direction, end)
    return neighbours


def _relations(dice: Dice, neighbours: Map) -> list[tuple[str, str, str]]:
    """Returns every link once, as (place, direction, neighbour), in the order of telling.

    A place is drawn and then one of its neighbours, until all links are told. So a place with few
    neighbours tends to come early, and first in its link.
    """
    places = list(neighbours)
    links = sum(map(len, neighbours.values())) // 2
    told: dict[frozenset[str], tuple[str, str, str]] = {}
    while len(told) < links:
        place = dice.pick(places)
        direction, neighbour = dice.pick(list(neighbours[place].items()))
        told.setdefault(frozenset((place, neighbour)), (place, direction, neighbour))
    return list(told.values())


def direction_story(dice: Dice) -> Tale:
    """Tells a story of task 4, which asks "What is north of the kitchen?".

    Two facts tell how three places lie on a line. The answer is the subject of one of them, so half
    of the questions turn the relation round.
    """
    tale = Tale(dice)
    one, two, middle = dice.shuffled(ROOMS)[:3]
    neighbours: Map = {}
    direction = dice.pick(tuple(OPPOSITE))
    _link(neighbours, middle, direction, one)
    _link(neighbours, middle, OPPOSITE[direction], two)
    told = []
    for place, direction, other in _relations(dice, neighbours):
        # The neighbour in the north has the place in its south.
        told.append((place, OPPOSITE[direction], other))
        tale.tell(f"The {place} is {OPPOSITE[direction]} of the {other}.")
    _, direction, other = dice.pick(told)
    fact = next(i for i, relation in enumerate(told) if relation[1:] == (direction, other))
    if dice.chance(0.5):
        question = f"What is {direction} of the {other}?"
    else:
        question = f"What is the {other} {OPPOSITE[direction]} of?"
    tale.ask(question, told[fact][0], [fact])
    return tale


def path_story(dice: Dice) -> Tale:
    """Tells a story of task 19, which asks "How do you go from the kitchen to the garden?".

    The map is a path of three places, with three dead ends on free sides of the path. The answer is
    the path's two steps, which are found by search.
    """
    tale = Tale(dice)
    names = dice.shuffled(ROOMS)
    neighbours = _line(dice, names)
    free = [(p, d) for p in names[:3] for d in OPPOSITE if d not in neighbours[p]]
    for (place, direction), name in zip(dice.shuffled(free), names[3:], strict=False):
        _link(neighbours, place, direction, name)
    told = _relations(dice, neighbours)
    for place, direction, other in told:
        tale.tell(f"The {place} is {OPPOSITE[direction]} of the {other}.")
    start, goal = names[:2]
    steps = _find_path(told, start, goal)
    answer = ",".join(direction[0] for direction, _ in steps)
    tale.ask(f"How do you go from the {start} to the {goal}?", answer, [fact for _, fact in steps])
    return tale


def _find_path(told: list[tuple[str, str, str]], start: str, goal: str) -> list[tuple[str, int]]:
    """Returns the shortest path as (direction, fact) steps, by breadth-first search."""
    paths: dict[str, list[tuple[str, int]]] = {start: []}
    queue = [start]
    while goal not in paths:
        here = queue.pop(0)
        for fact, (place, direction, other) in enumerate(told):
            for a, d, b in ((place, direction, other), (other, OPPOSITE[direction], place)):
                if a == here and b not in paths:
                    paths[b] = [*paths[a], (d, fact)]
                    queue.append(b)
    return paths[goal]


SHAPES = ("blue square", "pink rectangle", "red sphere", "red square", "triangle", "yellow square")


def position_story(dice: Dice) -> Tale:
    """Tells a story of task 17, which asks "Is the triangle above the red square?".

    Two facts place two shapes beside a third one. All eight questions are about those two shapes,
    so no fact states the answer, which follows from the shapes' coordinates.
    """
    tale = Tale(dice)
    names = dice.shuffled(SHAPES)[:3]
    told = _relations(dice, _line(dice, names))
    at = {names[2]: (0, 0)}
    fact_of = {}
    for fact, (place, direction, other) in enumerate(told):
        tale.tell(f"The {other} is {SIDE[direction]} the {place}.")
        if place != names[2]:
            place, direction, other = other, OPPOSITE[direction], place
        at[other] = STEP[direction]
        fact_of[other] = fact
    for _ in range(8):
        one, two = dice.shuffled(names[:2])
        across, up = at[one][0] - at[two][0], at[one][1] - at[two][1]
        holds = {d: x * across + y * up > 0 for d, (x, y) in STEP.items()}
        wanted = dice.chance(0.5)
        direction = dice.pick([d for d in STEP if holds[d] == wanted])
        answer = "yes" if holds[direction] else "no"
        tale.ask(f"Is the {one} {SIDE[direction]} the {two}?", answer, [fact_of[one], fact_of[two]])
    return tale


# Sizes: task 18.

SMALL = ("chocolate", "box of chocolates")
LARGE = ("box", "chest", "container", "suitcase")

MOST_DRAWS = 43  # so that questions fail about as often as in the released stories


def size_story(dice: Dice) -> Tale:
    """Tells a story of task 18, which asks "Does the chocolate fit in the chest?".

    The answer follows from two facts that make a chain of three things. Facts compare random pairs,
    with repetitions. Five facts are told and five questions are tried. If one of them finds no such
    facts, five more facts are told and five questions are tried again.
    """
    tale = Tale(dice)
    sizes = [*SMALL, *dice.shuffled(LARGE)]
    told: list[tuple[str, str]] = []  # (smaller, larger)
    asked = 0
    while asked < 5:
        for _ in range(5):
            small, large = (sizes[i] for i in sorted(dice.shuffled(range(len(sizes)))[:2]))
            told.append((small, large))
            if dice.chance(0.5):
                tale.tell(f"The {small} fits inside the {large}.")
            else:
                tale.tell(f"The {large} is bigger than the {small}.")
        asked = 0
        while asked < 5 and _ask_size(tale, told):
            asked += 1
    return tale


def _ask_size(tale: Tale, told: list[tuple[str, str]]) -> bool:
    """Asks about the far ends of two facts that make a chain, and returns whether it found two.

    A fact and one of its two things are drawn. The partner is the first other fact about that
    thing, and the draw fails if the two make no chain. The question is whether the thing at the
    first fact's far end can hold the thing at the partner's far end.
    """
    for _ in range(MOST_DRAWS):
        start, end = tale.dice.below(len(told)), tale.dice.below(2)
        shared, holder = told[start][end], told[start][1 - end]
        partner = next((i for i, pair in enumerate(told) if shared in pair and i != start), None)
        if partner is None or told[partner][1 - end] != shared:
            continue
        other = told[partner][end]
        # In size, the shared thing is between the two others.
        answer = "yes" if holder == told[start][1] else "no"
        if tale.dice.chance(0.5):
            question = f"Does the {other} fit in the {holder}?"
        else:
            question = f"Is the {holder} bigger than the {other}?"
        tale.ask(question, answer, [start, partner])
        return True
    return False


# Kinds: tasks 15, 16.

PLURAL = {"cat": "cats", "mouse": "mice", "sheep": "sheep", "wolf": "wolves"}
FEARFUL = ("Emily", "Gertrude", "Jessica", "Winona")


def fear_story(dice: Dice) -> Tale:
    """Tells a story of task 15, which asks "What is gertrude afraid of?".

    The answer is what her kind fears. What a kind fears is told before somebody is told to be of
    this kind.
    """
    tale = Tale(dice)
    fear: dict[str, tuple[str, int]] = {}
    kind: dict[str, tuple[str, int]] = {}
    while len(fear) < len(PLURAL) or len(kind) < len(FEARFUL):
        subject = dice.pick((*PLURAL, *FEARFUL))
        if subject in PLURAL and subject not in fear:
            feared = dice.other(tuple(PLURAL), than=subject)
            sentence = f"{PLURAL[subject].capitalize()} are afraid of {PLURAL[feared]}."
            fear[subject] = feared, tale.tell(sentence)
        elif subject in FEARFUL and subject not in kind:
            its_kind = dice.pick(tuple(PLURAL))
            if its_kind in fear:
                kind[subject] = its_kind, tale.tell(f"{subject} is a {its_kind}.")
    for _ in range(4):
        name = dice.pick(FEARFUL)
        its_kind, kind_fact = kind[name]
        feared, fear_fact = fear[its_kind]
        tale.ask(f"What is {name.lower()} afraid of?", feared, [kind_fact, fear_fact])
    return tale


ANIMALS = ("Bernhard", "Brian", "Greg", "Julius", "Lily")
SPECIES = ("frog", "lion", "rhino", "swan")
COLOURS = ("gray", "green", "white", "yellow")


def colour_story(dice: Dice) -> Tale:
    """Tells a story of task 16, which asks "What color is Lily?".

    Each of five animals' kind and colour are told, except for one colour, which is asked. The
    answer is the colour of another animal of the same kind, the one whose kind was told last.

    When the first colour of a kind is told, all animals that are then known to be of this kind get
    the same colour. An animal whose kind is told later may have another colour. So animals of one
    kind may differ, and the rule above decides. The asked animal's kind never has exactly two other
    animals.
    """
    while True:
        tale, kind, colour = _animals(dice)
        asked = next(name for name in ANIMALS if name not in colour)
        its_kind, its_fact = kind[asked]
        alike = [name for name, (k, _) in kind.items() if k == its_kind and name != asked]
        if len(alike) in (1, 3, 4):
            break
    example = alike[-1]
    answer, colour_fact = colour[example]
    tale.ask(f"What color is {asked}?", answer, [its_fact, kind[example][1], colour_fact])
    return tale


def _animals(dice: Dice) -> tuple[Tale, dict[str, tuple[str, int]], dict[str, tuple[str, int]]]:
    """Tells kinds and colours, and returns (kind, fact) and (colour, fact) of each animal."""
    tale = Tale(dice)
    kind: dict[str, tuple[str, int]] = {}
    colour: dict[str, tuple[str, int]] = {}
    coat: dict[str, str] = {}  # the colours that are decided, whether told or not
    while len(tale.facts) < 2 * len(ANIMALS) - 1:
        name = dice.pick(ANIMALS)
        if name not in kind:
            species = dice.pick(SPECIES)
            kind[name] = species, tale.tell(f"{name} is a {species}.")
        elif name not in colour:
            if name not in coat:
                drawn = dice.pick(COLOURS)
                for other, (species, _) in kind.items():
                    if species == kind[name][0]:
                        coat.setdefault(other, drawn)
            colour[name] = coat[name], tale.tell(f"{name} is {coat[name]}.")
    return tale, kind, colour


# Motives: task 20.

ACTORS = ("Antoine", "Jason", "Sumit", "Yann")
MOTIVES = {  # mood -> place, object
    "bored": ("garden", "football"),
    "hungry": ("kitchen", "apple"),
    "thirsty": ("kitchen", "milk"),
    "tired": ("bedroom", "pajamas"),
}


def motive_story(dice: Dice) -> Tale:
    """Tells a story of task 20, which asks "Where will sumit go?" and "Why did sumit go there?".

    The answers follow from moods, which are told first. Everybody is in some mood, goes where it
    leads him, and takes what he wants if nobody has taken it. A question follows every fact.
    """
    tale = Tale(dice)
    mood: dict[str, tuple[str, int]] = {}
    arrived: set[str] = set()
    taken: set[str] = set()
    waiting = list(ACTORS)
    while waiting:
        actor = dice.pick(waiting)
        name = actor.lower()
        if actor not in mood:
            feeling = dice.pick(tuple(MOTIVES))
            mood[actor] = feeling, tale.tell(f"{actor} is {feeling}.")
            tale.ask(f"Where will {name} go?", MOTIVES[feeling][0], [mood[actor][1]])
            continue
        feeling, fact = mood[actor]
        place, thing = MOTIVES[feeling]
        if actor not in arrived:
            arrived.add(actor)
            tale.tell(f"{actor} {dice.pick(GO)} the {place}.")
            tale.ask(f"Why did {name} go to the {place}?", feeling, [fact])
            continue
        waiting.remove(actor)
        if thing not in taken:
            taken.add(thing)
            tale.tell(f"{actor} {dice.pick(GET)} the {thing} there.")
            tale.ask(f"Why did {name} get the {thing}?", feeling, [fact])
    return tale
