"""The forms of puzzles in text: each is found, and what is none is an error with its line."""

import pytest

from rrn.data_prep.sudoku.formats import BLANKS, find_puzzles
from rrn.data_prep.sudoku.puzzles import PuzzleError

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLUTION = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
ROWS = [PUZZLE[i : i + 9] for i in range(0, 81, 9)]
SPACES = [row.replace(".", " ") for row in ROWS]
ZEROS = PUZZLE.replace(".", "0")


def drawn(rows, row, line):
    """Rows with lines between the bands."""
    texts = [row.format(*row_) for row_ in rows]
    return "\n".join([*texts[:3], line, *texts[3:6], line, *texts[6:]])


def joined(rows, separator, blank):
    return "\n".join(separator.join(row).replace(".", blank) for row in rows)


NARROW = "{}{}{}|{}{}{}|{}{}{}"
WIDE = "| {} {} {} | {} {} {} | {} {} {} |"
CASES = {
    **{f"blank {blank!r}": PUZZLE.replace(".", blank) for blank in BLANKS},
    "spaces around": f"   {PUZZLE}  ",
    "spaces for blanks and after": PUZZLE.replace(".", " ") + "   ",
    "byte order mark": "\N{BYTE ORDER MARK}" + PUZZLE,
    "comments and blank lines": f"# mine\n\n  \n{PUZZLE}\n\n#\n",
    "quotes": f'"{PUZZLE}"',
    "a rating": f"{PUZZLE} # 2.3 ED=7.1",
    "a rating and a name": f"{PUZZLE},7.1,easter monster",
    "an invalid solution": f"{PUZZLE} {SOLUTION[:-1]}8 invalid 0.3433 no solution",
    "a number before": f"17 {ZEROS}",
    "a hash before, a rating after": f"0000183b305c {ZEROS}  1.2",
    "nine lines": "\n".join(ROWS),
    "nine lines, spaces": "\n".join(SPACES),
    "nine lines, dashes": "\n".join(ROWS).replace(".", "-"),
    "nine lines apart": "\n\n".join(ROWS),
    "nine words": " ".join(ROWS),
    "cells apart": joined(ROWS, " ", "."),
    "commas": joined(ROWS, ",", "0"),
    "commas, nothing for a blank": joined(ROWS, ",", ""),
    "semicolons": joined(ROWS, ";", ""),
    "ruled with nine dashes": "\n".join([*ROWS[:3], "-" * 9, *ROWS[3:6], "-" * 9, *ROWS[6:]]),
    "Simple Sudoku": drawn(ROWS, NARROW, "-----------"),
    "boxes, dashes": drawn([r.replace(".", "-") for r in ROWS], NARROW, "---+---+---"),
    "boxes, spaces": drawn(SPACES, NARROW, "---+---+---"),
    "boxes, spaces between cells": drawn(SPACES, "{} {} {}|{} {} {}|{} {} {}", "-----+-----+-----"),
    "frame": "*-----------*\n" + drawn(ROWS, f"|{NARROW}|", "|---+---+---|") + "\n*-----------*",
    "wide frame": "+-------+-------+-------+\n" + drawn(ROWS, WIDE, "+-------+-------+-------+"),
    "wide frame, spaces": drawn(SPACES, WIDE, "|-------+-------+-------|"),
    "HoDoKu": ".-------.-------.-------.\n" + drawn(ROWS, WIDE, ":-------+-------+-------:"),
    "line drawing": "┌───┬───┬───┐\n" + drawn(SPACES, "│{}{}{}│{}{}{}│{}{}{}│", "├───┼───┼───┤"),
    "SudoCue": "#AAnon\n#DAn example\n" + "\n".join(ROWS),
    "SadMan": f"[Puzzle]\n{chr(10).join(ROWS)}\n[State]\n" + "\n".join(["123456789"] * 9),
    "Euler": "Grid 01\n" + "\n".join(ROWS).replace(".", "0"),
    "heading of one column": f"puzzles\n{PUZZLE}",
    "81 columns": ",".join(ZEROS),
    "81 columns, nothing for a blank": ",".join(PUZZLE).replace(".", ""),
    "81 columns and a heading": ",".join(f"r{i}" for i in range(81)) + "\n" + ",".join(ZEROS),
    "81 columns and their numbers": ",".join(map(str, range(81))) + "\n" + ",".join(ZEROS),
    "nested list": "[[" + "],\n [".join(", ".join(row) for row in ROWS).replace(".", "0") + "]]",
    "nested list in a line": "[[" + "],[".join(",".join(r) for r in ROWS).replace(".", "0") + "]]",
    "NumPy": "[[" + "]\n [".join(" ".join(row) for row in ROWS).replace(".", "0") + "]]",
    "list of strings": "[\n" + "".join(f'  "{row}",\n' for row in ROWS) + "]",
    "lists of strings": "[" + ",\n".join(str(list(row)) for row in ROWS) + "]",
}
WITH_SOLUTIONS = {
    "a solution": f"{PUZZLE} {SOLUTION}",
    "a solution after a comma": f"{PUZZLE},{SOLUTION}",
    "a solution after a tab": f"{PUZZLE}\t{SOLUTION}\tvalid",
    "Kaggle": f"quizzes,solutions\n{ZEROS},{SOLUTION}",
    "Kaggle, three million": f"id,puzzle,solution,clues,difficulty\n1,{PUZZLE},{SOLUTION},30,2.2",
    "Hugging Face": f"source,question,answer,rating\nx,{PUZZLE},{SOLUTION},0",
    "quotes and semicolons": f'"Puzzle";"Solution"\n"{PUZZLE}";"{SOLUTION}"\n',
    "162 columns": ",".join(ZEROS + SOLUTION),
}


@pytest.mark.parametrize("case", {**CASES, **WITH_SOLUTIONS})
def test_a_form_is_found(case):
    text = (CASES | WITH_SOLUTIONS)[case]
    (found,) = find_puzzles(text.splitlines())
    dots = str.maketrans(dict.fromkeys(BLANKS, "."))
    assert found.cells.translate(dots) == PUZZLE
    assert found.solution == (SOLUTION if case in WITH_SOLUTIONS else "")


@pytest.mark.parametrize("case", CASES)
def test_many_puzzles_of_a_form_are_found_with_their_lines(case):
    once = CASES[case].splitlines()
    (first,) = find_puzzles(once)
    lines = ["#", *once[first.line - 1 :]]
    if "[State]" in lines:
        lines.insert(1, "[Puzzle]")
    count = len(lines)
    found = list(find_puzzles(lines * 3))
    assert len(found) == 3 and {puzzle.cells for puzzle in found} == {first.cells}
    assert [puzzle.line - found[0].line for puzzle in found] == [0, count, 2 * count]


def test_forms_may_follow_each_other():
    lines = [PUZZLE, *ROWS, "", *drawn(SPACES, WIDE, "-" * 25).splitlines(), ZEROS]
    assert [puzzle.line for puzzle in find_puzzles(lines)] == [1, 2, 12, 23]


EXPECTED = "expected digits, and for a blank one of . 0 * - _ x X or a space"
WRONG = {
    "a short line": ([PUZZLE, PUZZLE[1:]], 2, "has 80 characters; expected 81, or nine lines of 9"),
    "a long line": ([PUZZLE + "1"], 1, "has 82 characters; expected 81"),
    "a character": (["..<.y" + PUZZLE[5:]], 1, f"has the character '<' in place 3; {EXPECTED}"),
    "another digit": ([PUZZLE[1:] + "٣"], 1, "has the character '٣' in place 81; expected digits"),
    "a zero byte": ([PUZZLE[1:] + "\0"], 1, "has the character '\\x00' in place 81"),
    "words": (["what is this?"], 1, "has the character 'w' in place 1"),
    "eight rows": ([PUZZLE, *ROWS[:8]], 2, "the puzzle that begins here has 8 rows; expected 9"),
    "a row and a puzzle": ([ROWS[0], PUZZLE], 1, "the puzzle that begins here has 1 row"),
    "ten rows": ([*ROWS, ROWS[0]], 10, "the puzzle that begins here has 1 row; expected 9"),
    "a short row": ([*ROWS[:4], ROWS[4][1:], *ROWS[5:]], 5, "has 8 characters; expected 81, or"),
    "a large number": ([",".join(["10", *"0" * 80])], 1, "has 82 characters"),
    "no column": (
        ["sudoku,result", f"{PUZZLE},{SOLUTION}"],
        1,
        "table's heading with a column puzzle, quiz",
    ),
    "a short field": (["id,puzzle", f"1,{PUZZLE}", f"2,{PUZZLE[1:]}"], 3, "has 80 characters"),
    "a field too few": (["id,puzzle", "1"], 2, "has 1 column; expected the puzzle in column 2"),
    "dots and dashes": (["......-...."], 1, "has 11 characters; expected 81"),
    "dots": ([PUZZLE, "..."], 2, "has 3 characters; expected 81"),
    "a comma": ([PUZZLE, ","], 2, "has 0 characters; expected 81"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["-" * 500_000 + "!", "grid" + "." * 500_000 + "!", '"' * 500_001])
def test_long_lines_take_no_long_time(text):
    with pytest.raises(PuzzleError):
        list(find_puzzles([text]))


@pytest.mark.parametrize("case", WRONG)
def test_what_is_not_understood_is_an_error_with_its_line(case):
    lines, line, what = WRONG[case]
    with pytest.raises(PuzzleError) as error:
        list(find_puzzles(lines))
    assert what in str(error.value) and error.value.line == line
    assert "\n" not in str(error.value) and len(str(error.value)) < 250
