"""The world of actors, places and objects, and what can happen in it.

An event is a method of `World`. It draws who does it, with what and where. If the draw is not
possible in the present state, the event tells nothing and returns False, and the story draws
another event. So the odds of events follow from the state: an actor who holds nothing drops
nothing.

Everybody and everything has a place from the start, even before it is told.
"""

from rrn.data_prep.babi.simulator.telling import Tale

PEOPLE = ("John", "Mary", "Sandra", "Daniel")
TRADERS = ("Mary", "Fred", "Bill", "Jeff")
TOWNSPEOPLE = ("Mary", "Bill", "Fred", "Julie")
PRONOUN = {"Mary": "she", "John": "he", "Daniel": "he", "Sandra": "she"}
ROOMS = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
TOWN = ("bedroom", "cinema", "kitchen", "office", "park", "school")
OBJECTS = ("apple", "football", "milk")

GO = ("moved to", "went to", "went back to", "journeyed to", "travelled to")
GET = ("got", "took", "grabbed", "picked up")
DROP = ("dropped", "left", "discarded", "put down")
GIVE = ("gave", "handed", "passed")
NEXT = ("Then", "After that", "Following that", "Afterwards")


class World:
    """Who and what is where, and the events that change it.

    At the start actors and objects are scattered. An event returns whether it could happen; if it
    did, the tale has told it. Every actor has a `place`, and every object a `spot` or a `holder`.
    """

    def __init__(
        self,
        tale: Tale,
        actors: tuple[str, ...] = PEOPLE,
        places: tuple[str, ...] = ROOMS,
        there: float = 1.0,
    ) -> None:
        pick = tale.dice.pick
        self._tale, self._dice = tale, tale.dice
        self.actors, self.places = actors, places
        self._there = there
        self.place = {actor: pick(places) for actor in actors}
        self.spot = {thing: pick(places) for thing in OBJECTS}
        self.holder: dict[str, str] = {}

    def go(self) -> bool:
        """Somebody moves to another place."""
        return self._arrive("{actor} {go} the {place}.", "go")

    def appear(self) -> bool:
        """Somebody is said to be in another place than before."""
        return self._arrive("{actor} is in the {place}.", "is")

    def _arrive(self, template: str, verb: str) -> bool:
        actor, place = self._dice.pick(self.actors), self._dice.pick(self.places)
        if place == self.place[actor]:
            return False
        self.place[actor] = place
        go = self._dice.pick(GO)
        self._tale.tell(template.format(actor=actor, go=go, place=place))
        self._tale.note(verb, actor, place)
        return True

    def leave(self) -> bool:
        """Somebody moves to an untold place, and is said to be no longer where he was."""
        actor, place = self._dice.pick(self.actors), self._dice.pick(self.places)
        left = self.place[actor]
        if place == left:
            return False
        self.place[actor] = place
        denial = self._dice.pick(("is not", "is no longer"))
        self._tale.tell(f"{actor} {denial} in the {left}.")
        self._tale.note("leave", actor, left)
        return True

    def hide(self) -> bool:
        """Somebody moves, and is said to be in one of two places, which may even be the same."""
        actor, place = self._dice.pick(self.actors), self._dice.pick(self.places)
        if place == self.place[actor]:
            return False
        self.place[actor] = place
        one, two = self._dice.shuffled((place, self._dice.pick(self.places)))
        self._tale.tell(f"{actor} is either in the {one} or the {two}.")
        self._tale.note("either", actor, one, two)
        return True

    def go_together(self) -> bool:
        """Two actors move to a place where neither of them is."""
        one, two = self._dice.shuffled(self.actors)[:2]
        place = self._dice.pick(self.places)
        if place in (self.place[one], self.place[two]):
            return False
        self._tale.tell(f"{one} and {two} {self._dice.pick(GO)} the {place}.")
        for actor in (one, two):
            self.place[actor] = place
            self._tale.note("go", actor, place)
        return True

    def go_on(self) -> bool:
        """The actors who moved last move on, and a pronoun names them."""
        last = self._tale.clauses[-1].fact
        movers = [c.actor for c in self._tale.clauses[-2:] if c.fact == last]
        pronoun = PRONOUN[movers[0]] if len(movers) == 1 else "they"
        place = self._dice.other(self.places, than=self.place[movers[0]])
        go, following = self._dice.pick(GO), self._dice.pick(NEXT)
        self._tale.tell(f"{following} {pronoun} {go} the {place}.")
        for actor in movers:
            self.place[actor] = place
            self._tale.note("go", actor, place)
            self._tale.clauses[-1] = self._tale.clauses[-1]._replace(before=last)
        return True

    def get(self) -> bool:
        """Somebody takes one of the objects where he is."""
        actor = self._dice.pick(self.actors)
        things = [thing for thing, spot in self.spot.items() if spot == self.place[actor]]
        if not things:
            return False
        thing = self._dice.pick(things)
        self.holder[thing] = actor
        del self.spot[thing]
        there = " there" if self._dice.chance(self._there) else ""
        self._tale.tell(f"{actor} {self._dice.pick(GET)} the {thing}{there}.")
        self._tale.note("get", actor, thing)
        return True

    def drop(self) -> bool:
        """Somebody leaves one of the objects that he holds."""
        actor = self._dice.pick(self.actors)
        things = [thing for thing, holder in self.holder.items() if holder == actor]
        if not things:
            return False
        thing = self._dice.pick(things)
        del self.holder[thing]
        self.spot[thing] = self.place[actor]
        there = " there" if self._dice.chance(0.2) else ""
        self._tale.tell(f"{actor} {self._dice.pick(DROP)} the {thing}{there}.")
        self._tale.note("drop", actor, thing)
        return True

    def give(self) -> bool:
        """Somebody hands an object over to somebody who is in the same place.

        Of several possible objects and receivers, the first in the order of `OBJECTS` and `actors`
        is taken. So the object that was just handed over is the next to be handed over again.
        """
        for thing in OBJECTS:
            if giver := self.holder.get(thing):
                place = self.place[giver]
                company = (a for a in self.actors if a != giver and self.place[a] == place)
                if receiver := next(company, None):
                    self.holder[thing] = receiver
                    self._tale.tell(f"{giver} {self._dice.pick(GIVE)} the {thing} to {receiver}.")
                    self._tale.note("give", giver, thing, receiver)
                    return True
        return False
