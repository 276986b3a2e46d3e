"""A table as text."""

from rrn.pages import Table


def test_a_tables_text_has_names_on_the_left_and_cells_on_the_right():
    table = Table(("error, %", "step 1", "paper"), [("mean", "10.50", ""), ("most", "9", "0.1")])
    assert str(table).split("\n") == [
        "error, %  step 1  paper",
        "mean       10.50",
        "most           9    0.1",
    ]


def test_notes_stand_below():
    assert str(Table(("", "%"), [("all", "7")], ["one", "two"])).split("\n")[2:] == ["one", "two"]
