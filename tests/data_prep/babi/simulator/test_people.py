"""Questions about people, places and things, in tales told by hand."""

from rrn.data_prep.babi.simulator.people import SETTINGS
from rrn.data_prep.babi.simulator.telling import Dice, Tale
from rrn.data_prep.babi.simulator.world import World


def tale_of(*clauses):
    """A tale of these clauses, each a fact of its own, and a world to ask in."""
    tale = Tale(Dice("test"))
    for clause in clauses:
        tale.tell(" ".join(clause))
        tale.note(*clause)
    return tale, World(tale)


def asked(task, tale, world, clause):
    """The question of this task that starts from the clause at this position, if any."""
    ask = SETTINGS[task].ask
    return tale.questions[-1] if ask(tale, world, tale.clauses[clause]) else None


def test_where_a_thing_is_and_was():
    tale, world = tale_of(
        ("go", "Mary", "office"),
        ("get", "Mary", "milk"),
        ("go", "Mary", "garden"),
        ("go", "John", "kitchen"),
        ("go", "Mary", "hallway"),
        ("drop", "Mary", "milk"),
    )
    where = asked(2, tale, world, clause=5)
    assert (where.answer, where.supporting) == ("hallway", (5, 4))
    assert asked(2, tale, world, clause=1) is None  # not the last word on the milk
    assert asked(2, tale, world, clause=4) is None  # about Mary
    before = asked(3, tale, world, clause=5)
    assert before.text == "Where was the milk before the hallway?"
    assert (before.answer, before.supporting) == ("garden", (5, 4, 2))
