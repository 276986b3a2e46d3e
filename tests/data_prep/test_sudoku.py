"""The Sudoku data set: a brute-force oracle, lists with equivalent puzzles, and the real list."""

import gzip
import itertools
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from data_prep import sudoku, sudoku_list
from data_prep.__main__ import main
from data_prep.progress import Progress
from data_prep.sudoku_generator import generate
from data_prep.sudoku_solver import BLOCK, solve
from data_prep.sudoku_symmetry import fingerprints

UNITS = np.concatenate(list(sudoku_list.UNITS.values()))
SMALL = ("--train_per_level", "6", "--valid_per_level", "4", "--test_per_level", "5")


def boards(*texts: str) -> np.ndarray:
    return np.array([[int(digit) for digit in text.replace(".", "0")] for text in texts])


def lines(puzzles: np.ndarray) -> str:
    return "".join("".join(map(str, puzzle)) + "\n" for puzzle in puzzles)


def transform(puzzle: np.ndarray, solution: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
    """Returns both after the same random symmetry of the grid and relabelling of the digits."""

    def shuffled_lines():
        return np.concatenate([3 * band + rng.permutation(3) for band in rng.permutation(3)])

    cells = np.arange(81).reshape(9, 9)[shuffled_lines()][:, shuffled_lines()]
    cells = (cells.T if rng.integers(2) else cells).ravel()
    digits = np.append(0, rng.permutation(9) + 1)
    return digits[puzzle[cells]], digits[solution[cells]]


def prepare(source: Path, out: Path, *options: str) -> int:
    return main(["sudoku", "--clues", str(source), "--out", str(out), *SMALL, *options])


def contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str | int]]:
    """Returns all datasets by their path in the file, and the attributes."""
    with h5py.File(path) as file:
        names = [f"{split}/{name}" for split, group in file.items() for name in group]
        return {name: file[name][:] for name in names}, dict(file.attrs)


@pytest.fixture(scope="session")
def generated() -> tuple[np.ndarray, np.ndarray]:
    """60 puzzles with 22 to 34 givens, and their solutions."""
    (batch,) = generate(60, np.random.default_rng(0))
    return batch


@pytest.fixture
def clues(generated, tmp_path) -> Path:
    path = tmp_path / "clues.txt"
    path.write_text(lines(generated[0]))
    return path


# The solver.


def count_by_trial(puzzle: np.ndarray, most: int) -> int:
    """Counts solutions up to `most`, cell by cell: the oracle."""
    grid = puzzle.reshape(9, 9)
    best = None
    for row, column in np.argwhere(grid == 0):
        box = grid[row // 3 * 3 : row // 3 * 3 + 3, column // 3 * 3 : column // 3 * 3 + 3]
        options = set(range(1, 10)) - {*grid[row], *grid[:, column], *box.flat}
        if best is None or len(options) < len(best[2]):
            best = row, column, options
    if best is None:
        return 1
    row, column, options = best
    found = 0
    for digit in options:
        grid[row, column] = digit
        found += count_by_trial(puzzle, most - found)
        if found == most:
            break
    grid[row, column] = 0
    return found


def assert_solves(solutions: np.ndarray, puzzles: np.ndarray):
    assert (np.sort(solutions[:, UNITS], axis=2) == np.arange(1, 10)).all()
    assert ((puzzles == 0) | (puzzles == solutions)).all()


def test_solve_counts_as_the_oracle_does(generated):
    rng = np.random.default_rng(1)
    puzzles = generated[0][:18].copy()
    # The first with a given less: more solutions. The last with a given changed: mostly none.
    for puzzle in puzzles[:8]:
        puzzle[rng.choice(np.flatnonzero(puzzle))] = 0
    for puzzle in puzzles[11:]:
        cell = rng.choice(np.flatnonzero(puzzle))
        taken = {digit for unit in UNITS if cell in unit for digit in puzzle[unit]}
        puzzle[cell] = min(set(range(1, 10)) - taken, default=puzzle[cell])
    expected = [count_by_trial(puzzle.copy(), 9) for puzzle in puzzles]
    assert {0, 1, 2, 9} <= set(expected)
    solutions, counts = solve(puzzles, max_solutions=9)
    assert counts.tolist() == expected
    assert_solves(solutions[counts > 0], puzzles[counts > 0])
    assert not solutions[counts == 0].any()
    assert solve(puzzles)[1].tolist() == np.minimum(expected, 2).tolist()


def test_solve_hard_puzzles():
    known = {
        # Inkala 2012; the "golden nugget"; one that counters trial in order of cells and digits.
        "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..": (
            "812753649943682175675491283154237896369845721287169534521974368438526917796318452"
        ),
        ".......39.....1..5..3.5.8....8.9...6.7...2...1..4.......9.8..5..2....6..4..7.....": (
            "751846239892371465643259871238197546974562318165438927319684752527913684486725193"
        ),
        "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9": (
            "987654321246173985351928746128537694634892157795461832519286473472319568863745219"
        ),
    }
    solutions, counts = solve(boards(*known))
    np.testing.assert_array_equal(solutions, boards(*known.values()))
    assert counts.tolist() == [1, 1, 1]


def test_solve_when_there_is_no_or_more_than_one_solution(generated):
    solution = generated[1][0]
    wrong = solution.copy()
    wrong[[0, 1]] = wrong[[1, 0]]  # full, but two columns have a digit twice
    no_place = boards("12345678." + "........9" + "." * 63)[0]  # no digit left for the last cell
    puzzles = np.array([np.zeros(81, int), wrong, solution, no_place])
    solutions, counts = solve(puzzles, max_solutions=50)
    assert counts.tolist() == [50, 0, 1, 0]
    assert_solves(solutions[[0, 2]], puzzles[[0, 2]])


def test_solve_takes_none_and_more_than_a_block(generated):
    solutions, counts = solve(np.zeros((0, 81), int))
    assert solutions.shape == (0, 81) and counts.shape == (0,)
    index = np.arange(BLOCK + 100) % 60
    solutions, counts = solve(generated[0][index])
    assert (counts == 1).all()
    np.testing.assert_array_equal(solutions, generated[1][index])


def test_solve_fills_blank_grids_at_random():
    blank = np.zeros((500, 81), int)
    grids, _ = solve(blank, 1, np.random.default_rng(0))
    assert_solves(grids, blank)
    # They are not permutations of one grid, which would keep these counts up to a transpose.
    assert len(np.unique(exchanges(grids), axis=0)) > 400
    # Every digit in every cell: 500 / 9 = 55.6 on average, standard deviation 7.
    times = np.stack([(grids == digit).sum(axis=0) for digit in range(1, 10)])
    assert times.min() > 20 and times.max() < 91


def exchanges(grids: np.ndarray) -> np.ndarray:
    """Returns [grids, 9] sorted: how often each row holds a b where another row holds b a."""
    rows = grids.reshape(-1, 9, 9)
    same = rows[:, :, None, :, None] == rows[:, None, :, None, :]  # [grids, row, row, cell, cell]
    crossed = same & same.swapaxes(3, 4) & ~np.eye(9, dtype=bool)
    return np.sort(crossed.sum(axis=(2, 3, 4)), axis=1)


def test_solve_real_puzzles(sudoku_clues):
    puzzles = boards(*gzip.decompress(sudoku_clues.read_bytes()).decode().split()[::100])
    solutions, counts = solve(puzzles)
    assert len(puzzles) == 392 and (counts == 1).all()
    assert_solves(solutions, puzzles)


# Generated puzzles.


def test_generate(generated):
    puzzles, solutions = generated
    givens = np.count_nonzero(puzzles, axis=1)
    assert len(puzzles) == 60 and givens.min() >= 22 and givens.max() <= 34
    assert len(set(givens)) > 8
    found, counts = solve(puzzles)
    assert (counts == 1).all()
    np.testing.assert_array_equal(found, solutions)
    assert len(np.unique(fingerprints(puzzles, solutions))) == 60


def test_generate_makes_as_many_as_asked(monkeypatch):
    monkeypatch.setattr("data_prep.sudoku_generator.BATCH", 2)
    batches = generate(3, np.random.default_rng(0))
    assert [len(puzzles) for puzzles, _ in batches] == [2, 1]


# Symmetries and pools.


def test_fingerprints_are_the_same_for_equivalent_puzzles_only(generated):
    rng = np.random.default_rng(0)
    puzzles, solutions = generated
    expected = fingerprints(puzzles, solutions)
    for _ in range(10):
        pairs = np.array([transform(*pair, rng) for pair in zip(puzzles, solutions, strict=True)])
        np.testing.assert_array_equal(fingerprints(pairs[:, 0], pairs[:, 1]), expected)
    # With one given at another cell, it is another puzzle.
    moved = puzzles.copy()
    moved[np.arange(60), (puzzles > 0).argmax(axis=1)] = 0
    moved[np.arange(60), (puzzles == 0).argmax(axis=1)] = 1
    assert not set(fingerprints(moved, solutions)) & set(expected)


def test_split_pools_keeps_kinds_together():
    kinds = np.array([7, 5, 7, 1, 2, 3, 7, 4, 5, 9])
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pools, notes = sudoku.split_pools(kinds, {"test": 3, "valid": 2}, rng)
        assert sorted(np.concatenate(list(pools.values()))) == list(range(10))
        assert len(pools["test"]) == 3 and len(pools["valid"]) == 2
        for a, b in itertools.combinations(pools.values(), 2):
            assert not set(kinds[a]) & set(kinds[b])
        assert notes[1].startswith("5 puzzles are equivalent to others")
        seen.add(tuple(pools["test"]))
    assert len(seen) > 3


@pytest.mark.parametrize("seed", range(3))
def test_equivalent_puzzles_land_in_one_pool(generated, tmp_path, seed):
    rng = np.random.default_rng(seed)
    origin = rng.permutation(np.repeat(np.arange(60), 3))
    listed = [transform(generated[0][i], generated[1][i], rng)[0] for i in origin]
    (tmp_path / "clues.txt").write_text(lines(listed))
    options = ("--test_pool", "50", "--valid_pool", "20", "--seed", str(seed))
    assert prepare(tmp_path / "clues.txt", tmp_path / "s.h5", *options) == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    origin_of = {tuple(puzzle): i for puzzle, i in zip(listed, origin, strict=True)}
    pools = [[origin_of[tuple(p)] for p in datasets[f"{s}/pool"]] for s in sudoku.SPLITS]
    # 16 and 6 triples are what fits into 50 and 20.
    assert [len(pool) for pool in pools] == [180 - 48 - 18, 18, 48]
    assert sum(len(set(pool)) for pool in pools) == 60
    assert "180 puzzles are equivalent to others" in attributes["notes"]


def test_pools_are_the_papers_share(generated, clues, tmp_path):
    assert prepare(clues, tmp_path / "s.h5") == 0
    datasets, _ = contents(tmp_path / "s.h5")
    # 60 * 10,000 / 49,151 = 12.2 and 60 * 1,000 / 49,151 = 1.2
    sizes = {split: len(datasets[f"{split}/pool"]) for split in sudoku.SPLITS}
    assert sizes == {"train": 47, "valid": 1, "test": 12}
    pooled = np.concatenate([datasets[f"{split}/pool"] for split in sudoku.SPLITS])
    assert sorted(map(tuple, pooled)) == sorted(map(tuple, generated[0]))


# Examples.


def assert_made_from_pool(datasets: dict[str, np.ndarray], split: str) -> set[int]:
    """Every example is its pool puzzle relabelled, with further cells of the solution.

    Returns the fingerprints of the pool's puzzles.
    """
    puzzle, solution, givens, source, pool = (
        datasets[f"{split}/{name}"]
        for name in ("puzzle", "solution", "givens", "pool_puzzle", "pool")
    )
    assert_solves(solution, puzzle)
    np.testing.assert_array_equal(givens, (puzzle > 0).sum(axis=1))
    assert (np.diff(givens.astype(int)) >= 0).all()
    solved, counts = solve(pool)
    assert (counts == 1).all()
    relabelled = np.zeros((len(puzzle), 10), int)
    np.put_along_axis(relabelled, solved[source].astype(int), solution, axis=1)
    assert (np.sort(relabelled[:, 1:], axis=1) == np.arange(1, 10)).all()
    np.testing.assert_array_equal(
        solution, np.take_along_axis(relabelled, solved[source].astype(int), axis=1)
    )
    contained = np.take_along_axis(relabelled, pool[source].astype(int), axis=1)
    assert ((contained == 0) | (contained == puzzle)).all()
    return set(fingerprints(pool, solved))


def test_examples(clues, tmp_path):
    assert prepare(clues, tmp_path / "s.h5") == 0
    datasets, attributes = contents(tmp_path / "s.h5")
    for split, per_level in (("train", 6), ("valid", 4), ("test", 5)):
        assert_made_from_pool(datasets, split)
        own = (datasets[f"{split}/pool"] > 0).sum(axis=1)
        levels = datasets[f"{split}/givens"] - own[datasets[f"{split}/pool_puzzle"]]
        assert np.bincount(levels).tolist() == [per_level] * 18
    assert {name: array.dtype for name, array in datasets.items() if "test" in name} == {
        "test/puzzle": np.uint8,
        "test/solution": np.uint8,
        "test/givens": np.uint8,
        "test/pool_puzzle": np.int32,
        "test/pool": np.uint8,
    }
    assert attributes | {"sha256": ""} == {
        "schema": "sudoku",
        "version": 1,
        "source": "clues.txt",
        "sha256": "",
        "notes": "The puzzles are split at random by seed",
        "seed": 0,
    }
    assert re.fullmatch("[0-9a-f]{64}", attributes["sha256"])


def test_examples_are_drawn_evenly(generated):
    puzzles, solutions = generated[0][:2], generated[1][:2]
    made = sudoku.make_examples(puzzles, solutions, 500, np.random.default_rng(0))
    # 9,000 draws of 2 puzzles: standard deviation 47.
    assert abs((made["pool_puzzle"] == 0).sum() - 4500) < 240
    for i in range(2):
        rows = made["pool_puzzle"] == i
        puzzle, solution = made["puzzle"][rows], made["solution"][rows]
        # A digit becomes each of the 9 digits in a ninth of the examples.
        for digit in range(1, 10):
            new = solution[:, (solutions[i] == digit).argmax()]
            shares = np.bincount(new, minlength=10)[1:] / len(new)
            assert abs(shares - 1 / 9).max() < 0.03
        # On average 8.5 of the blanks are revealed, each as often as any other.
        blank = puzzles[i] == 0
        shares = (puzzle[:, blank] > 0).mean(axis=0)
        assert abs(shares - 8.5 / blank.sum()).max() < 0.035


def test_same_seed_same_bytes(clues, tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert prepare(clues, tmp_path / name, "--seed", seed) == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_generated_data_set(tmp_path, capsys):
    for name in "ab":
        command = ["sudoku", "--generate", "20", "--out", str(tmp_path / name), *SMALL]
        assert main(command) == 0
    datasets, attributes = contents(tmp_path / "a")
    assert (attributes["source"], attributes["sha256"]) == ("generated", "")
    assert [len(datasets[f"{split}/pool"]) for split in sudoku.SPLITS] == [15, 1, 4]
    for split in sudoku.SPLITS:
        assert_made_from_pool(datasets, split)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert re.search(r"train +108 +\d+-\d+ +15\n", capsys.readouterr().out)


# Lists.


def test_lists_may_be_compressed_have_dots_and_windows_line_ends(generated, clues, tmp_path):
    other = tmp_path / "clues.txt.gz"
    text = lines(generated[0]).replace("0", ".").replace("\n", "\r\n")
    other.write_bytes(gzip.compress(text.encode()))
    for path in (clues, other):
        puzzles, solutions = sudoku_list.read(path)
        np.testing.assert_array_equal(puzzles, generated[0])
        np.testing.assert_array_equal(solutions, generated[1])


GOOD = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
FULL = "693784512487512936125963874932651487568247391741398625319475268856129743274836159"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("", "'' has 0 characters; expected 81"),
        (GOOD[:-1], f"'{GOOD[:-1]}' has 80 characters; expected 81"),
        ("7" * 500, f"'{'7' * 90}...' has 500 characters; expected 81"),
        (GOOD[:-1] + "x", f"'{GOOD[:-1]}x' has the character 'x'; expected digits, '0' or '.'"),
        (GOOD.replace("6", "0"), "' has 16 givens; expected 17 to 64"),
        (FULL[:65] + "0" * 16, "' has 65 givens; expected 17 to 64"),
        ("1" + GOOD[1:], "' has the digit 1 2 times in row 1"),
        (GOOD[:27] + "4" + GOOD[28:], "' has the digit 4 2 times in row 4"),
        (GOOD[:36] + "4" + GOOD[37:], "' has the digit 4 2 times in column 1"),
        (GOOD[:10] + "2" + GOOD[11:], "' has the digit 2 2 times in column 2"),
        (GOOD[:2] + "4" + GOOD[3:], "' has the digit 4 2 times in box 1"),
        ("5" + GOOD[1:], "' has no solution; expected exactly one"),
        (GOOD.replace("6", "0").replace("0", "6", 1), "' has more than one solution; expected"),
    ],
)
def test_bad_lines(tmp_path, capsys, bad, message):
    clues = tmp_path / "clues.txt"
    clues.write_text(f"{GOOD}\n{bad}\n{GOOD}\n{GOOD[:-2]}\n"[: 83 + len(bad)])
    assert prepare(clues, tmp_path / "s.h5") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {clues}, line 2: '") and message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "s.h5").exists()


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_truncated_list(clues, tmp_path, capsys, kept):
    whole = gzip.compress(clues.read_bytes())
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(whole[: int(kept * len(whole))])
    assert prepare(cut, tmp_path / "s.h5") == 2
    assert capsys.readouterr().err.startswith(f"error: {cut}: not a whole .gz file (")


@pytest.mark.parametrize("name", ["clues.txt", "clues.txt.gz"])
def test_an_empty_list(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(b"")
    assert prepare(tmp_path / name, tmp_path / "s.h5") == 2
    expected = f"error: {tmp_path / name}: empty; expected one puzzle of 81 characters a line\n"
    assert capsys.readouterr().err == expected


def test_files_that_are_no_list(tmp_path, capsys):
    (tmp_path / "page.gz").write_bytes(b"<html>")
    assert prepare(tmp_path / "page.gz", tmp_path / "s.h5") == 2
    assert prepare(tmp_path / "nowhere.txt", tmp_path / "s.h5") == 2
    assert prepare(tmp_path, tmp_path / "s.h5") == 2
    errors = capsys.readouterr().err.splitlines()
    assert "not a whole .gz file (Not a gzipped file" in errors[0]
    assert "No such file" in errors[1] and "nowhere.txt" in errors[1]
    assert "Is a directory" in errors[2] and len(errors) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seed", "-1"), "--seed -1: at least 0 is needed"),
        (("--test_pool", "0"), "--test_pool 0: at least 1 is needed"),
        (("--train_per_level", "0"), "--train_per_level 0: at least 1 is needed"),
        (("--test_pool", "50", "--valid_pool", "10"), "60 puzzles: 50 for test and 10 for valid"),
    ],
)
def test_wrong_options(clues, tmp_path, capsys, options, message):
    assert prepare(clues, tmp_path / "s.h5", *options) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_equivalent_puzzles_that_fill_no_pool(generated, tmp_path, capsys):
    (tmp_path / "clues.txt").write_text(lines(generated[0][[0] * 5]))
    assert prepare(tmp_path / "clues.txt", tmp_path / "s.h5") == 2
    expected = "error: 5 puzzles of 1 kinds leave the valid pool empty; equivalent puzzles stay"
    assert capsys.readouterr().err.startswith(expected)


def test_progress_shows_rate_and_time_left(monkeypatch, capsys):
    clock = iter([0.0, 5.0, 20.0, 21.0, 25.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    progress = Progress("solving", 1000)
    for done in (50, 200, 210, 1000):  # too early; 10 a second: 800 left take 80 s; too early; last
        progress.show(done)
    assert [line.strip() for line in capsys.readouterr().err.splitlines()] == [
        "solving: 200 of 1,000, 10/s, 80 s left",
        "solving: 1,000 of 1,000, 40/s, 0 s left",
    ]


def test_progress_towards_an_unknown_total(monkeypatch, capsys):
    clock = iter([0.0, 20.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    Progress("kB downloaded", None).show(200)
    assert capsys.readouterr().err.strip() == "kB downloaded: 200, 10/s"


# The real list.


def test_real_data_set(sudoku_h5):
    datasets, attributes = contents(sudoku_h5)
    counts = {"train": (30_389, 10_000), "valid": (797, 1_000), "test": (7_965, 1_000)}
    tenth = {
        name: rows if name.endswith("/pool") else rows[::10] for name, rows in datasets.items()
    }
    kinds = set()
    for split, (pool, per_level) in counts.items():
        assert len(datasets[f"{split}/pool"]) == pool
        expected = [0] * 17 + [per_level] * 18
        assert np.bincount(datasets[f"{split}/givens"]).tolist() == expected
        kinds |= assert_made_from_pool(tenth, split)
    assert len(kinds) == 39_151  # no two puzzles of the list are equivalent
    assert attributes["notes"] == "The puzzles are split at random by seed"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the memory there")
def test_real_time_and_memory(sudoku_clues, tmp_path):
    program = """
import sys, time
from data_prep.__main__ import main
status = main(sys.argv[1:])
print(time.process_time())
print(open("/proc/self/status").read())
sys.exit(status)
"""
    arguments = ["sudoku", "--clues", str(sudoku_clues), "--out", str(tmp_path / "sudoku.h5")]
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", program, *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root).stdout
    assert "train        180,000" in printed
    seconds = float(re.search(r"^[\d.]+$", printed, re.MULTILINE)[0])
    kibibytes = int(re.search(r"VmHWM:\s+(\d+) kB", printed)[1])
    assert seconds < 60
    assert kibibytes < 2**19
    assert (tmp_path / "sudoku.h5").stat().st_size < 20e6
