"""How a story is told: random choices, and the tale that collects facts and questions."""

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from rrn.data_prep.babi.stories import Question, Story

Item = TypeVar("Item")


class Dice:
    """Random choices that depend on a key alone.

    Every choice comes from `random.Random(key).random()`, which is the only random stream that
    Python promises to keep the same from version to version. The key is a string, which seeds the
    stream without Python's `hash`, whose values differ from process to process.
    """

    def __init__(self, key: str) -> None:
        self._uniform = random.Random(key).random

    def chance(self, probability: float) -> bool:
        """Returns True with this probability."""
        return self._uniform() < probability

    def below(self, limit: int) -> int:
        """Returns an integer from 0 to `limit` - 1."""
        return int(self._uniform() * limit)

    def pick(self, items: Sequence[Item]) -> Item:
        """Returns one of the items, at least one, all equally likely."""
        return items[int(self._uniform() * len(items))]

    def other(self, items: Sequence[Item], than: Item) -> Item:
        """Returns one of the items that is not `than`."""
        while (item := self.pick(items)) == than:
            pass
        return item

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Returns the items in a random order."""
        return self._permuted(items, 1)

    def cycled(self, items: Sequence[Item]) -> list[Item]:
        """Returns the items permuted by a random single cycle, so that none keeps its place."""
        return self._permuted(items, 0)

    def _permuted(self, items: Sequence[Item], offset: int) -> list[Item]:
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + offset)
            items[i], items[j] = items[j], items[i]
        return items


class Clause(NamedTuple):
    """What one fact says about one actor.

    Attributes:
      verb: "go", "is", "leave", "either", "get", "drop" or "give".
      what: the place or the object.
      other: the receiver ("give"), the second place ("either"), or None.
      fact: the position of the fact among the story's facts.
      before: the position of the fact that says whom a pronoun means, or None.
    """

    verb: str
    actor: str
    what: str
    other: str | None
    fact: int
    before: int | None = None


class Tale:
    """A story while it is being told: what its facts say (`clauses`), its facts and questions."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.clauses: list[Clause] = []
        self.facts: list[str] = []
        self.questions: list[Question] = []

    def tell(self, sentence: str) -> int:
        """Tells a fact; returns its position."""
        self.facts.append(sentence)
        return len(self.facts) - 1

    def note(self, verb: str, actor: str, what: str, other: str | None = None) -> None:
        """Notes what the last fact says about one actor."""
        self.clauses.append(Clause(verb, actor, what, other, len(self.facts) - 1))

    def ask(self, text: str, answer: str, supporting: Sequence[int]) -> None:
        """Asks about the facts told so far; `supporting` is in the order to be stored."""
        self.questions.append(Question(text, answer, len(self.facts), tuple(supporting)))

    def story(self, task: int) -> Story:
        return Story(task, tuple(self.facts), tuple(self.questions))
