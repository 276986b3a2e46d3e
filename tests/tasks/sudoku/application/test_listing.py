"""The file of a list's solutions: written as they are found, whole in the end, and gone on with."""

import errno

import numpy as np
import pytest

from rrn.tasks.sudoku import Solutions
from rrn.tasks.sudoku.application.listing import Listing
from tests.tasks.sudoku.boards import GRID, puzzles, text

COUNT = 7


@pytest.fixture
def found():
    """Solutions of seven puzzles, of which one has none and one several."""
    confidence = np.linspace(0.3, 0.9, COUNT * 81, dtype=np.float32).reshape(COUNT, 81)
    valid = np.array([True, True, False, True, False, True, True])
    counts = np.array([1, 2, 0, 1, 1, 1, -1])
    return Solutions(np.tile(GRID.astype(np.uint8), [COUNT, 1]), confidence, valid, counts)


def some(found, indices):
    return Solutions(**{name: values[indices] for name, values in vars(found).items()})


def add(listing, found, *indices):
    listing.add(np.array(indices), some(found, list(indices)))


def lines(folder):
    return (folder / "solutions.txt").read_text().splitlines()


def test_lines_are_in_the_lists_order_whatever_was_found_first(found, tmp_path):
    digits = puzzles(COUNT)
    with Listing(tmp_path, digits, b"") as listing:
        add(listing, found, 4, 0, 6)
        assert listing.left.tolist() == [1, 2, 3, 5]
        assert len(listing.path.read_text().splitlines()) == 3  # as soon as it is found
        add(listing, found, 5, 1)
        add(listing, found, 3, 2)
        assert listing.finish() == tmp_path / "solutions.txt"
    said = {1: " more than one solution", 2: " no solution"}
    said[6] = " a number of solutions that 4,000,000 guesses have not shown"
    for i, line in enumerate(lines(tmp_path)):
        valid = "valid" if found.valid[i] else "invalid"
        lowest = f"{found.confidence[i].min():.4f}"
        assert line == f"{text(digits[i])} {text(GRID)} {valid} {lowest}{said.get(i, '')}"
    assert listing.num_valid == 5
    numbers = {words: n for words, n in listing.remarks.items() if "guesses" not in words}
    assert numbers == {"no solution": 1, "one solution": 4, "more than one solution": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["solutions.txt"]


def test_what_is_done_is_not_done_again_and_half_a_line_is_dropped(found, tmp_path):
    digits = puzzles(COUNT)
    with Listing(tmp_path, digits, b"") as whole:
        add(whole, found, *range(COUNT))
        whole.finish()
    expected = lines(tmp_path)
    (tmp_path / "solutions.txt").unlink()
    with Listing(tmp_path, digits, b"") as listing:
        add(listing, found, 5, 2, 3)
    data = listing.path.read_bytes()
    for size in range(len(data)):
        listing.path.write_bytes(data[:size])
        with Listing(tmp_path, digits, b"") as again:
            left = again.left.tolist()
            assert COUNT - len(left) == data[:size].count(b"\n")
            if size % 50 == 0:
                add(again, found, *left)
                again.finish()
                assert lines(tmp_path) == expected and again.num_valid == 5


@pytest.mark.parametrize("rest", [bytes(500), b"\n", b"8 ", b"what is this?\n"])
def test_what_a_lost_machine_leaves_at_the_end_is_cut_away(found, tmp_path, rest):
    with Listing(tmp_path, puzzles(COUNT), b"") as listing:
        add(listing, found, 3, 1)
    data = listing.path.read_bytes()
    listing.path.write_bytes(data + rest + data)
    with Listing(tmp_path, puzzles(COUNT), b"") as listing:
        assert listing.left.tolist() == [0, 2, 4, 5, 6]
        assert listing.path.read_bytes() == data


def test_another_list_and_other_settings_begin_anew(found, tmp_path):
    digits = puzzles(COUNT)
    with Listing(tmp_path, digits, b"64 steps") as listing:
        add(listing, found, 0, 1)
    for other, settings in ((digits, b"32 steps"), (digits[::-1], b"64 steps")):
        with Listing(tmp_path, np.ascontiguousarray(other), settings) as another:
            assert len(another.left) == COUNT
    with Listing(tmp_path, digits, b"64 steps") as listing:
        assert len(listing.left) == COUNT - 2


def test_a_full_disk_is_named_with_its_file(found, tmp_path):
    with (
        Listing(tmp_path, puzzles(COUNT), b"") as listing,
        open("/dev/full", "r+b", buffering=0) as full,
    ):
        listing._file.close()
        listing._file = full
        with pytest.raises(OSError, match=r"solutions\.txt\.\w{12}\.part") as error:
            add(listing, found, 0)
        assert error.value.errno == errno.ENOSPC and len(listing.left) == COUNT


def test_one_process_writes_the_file(found, tmp_path):
    """Lines of two would be mixed."""
    with Listing(tmp_path, puzzles(COUNT), b"") as listing:
        add(listing, found, *range(3))
        with pytest.raises(ValueError, match=r"solutions\.txt\..*\.part: another process solves"):
            Listing(tmp_path, puzzles(COUNT), b"")
        add(listing, found, *range(3, COUNT))
        listing.finish()
    assert len(lines(tmp_path)) == COUNT
    with Listing(tmp_path, puzzles(COUNT), b"") as listing:  # the next one may
        assert len(listing.left) == COUNT
