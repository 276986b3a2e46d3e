"""Sudoku: puzzles with one solution, at 18 levels of difficulty (Palm et al., arXiv 1711.08028).

    python -m data_prep sudoku --clues sudoku17.txt.gz --out data/sudoku.h5
    python -m data_prep sudoku --generate 10000 --out data/sudoku.h5

reads a list of puzzles with one solution each, or makes such puzzles, and writes one HDF5 file.

The puzzles are split into three pools, one for each split. An example of level k = 0..17 is a
puzzle of the split's pool, drawn with replacement, with its digits relabelled at random and k
further cells of its solution revealed. No puzzle of one pool can be turned into a puzzle of
another by relabelling its digits, transposing the grid, or permuting bands, rows within a band,
stacks, or columns within a stack. Each puzzle of the paper's list has 17 givens; here a puzzle may
have 17 to 64.

Schema "sudoku", version 1. File attributes:

    schema   "sudoku"
    version  1
    source   the list's file name, or "generated"
    sha256   the file's checksum; "" for generated puzzles
    notes    how the puzzles were split, in plain sentences
    seed     seed of all random choices

Datasets. Each split of train, valid and test has N examples in order of their number of givens, and
P puzzles in its pool. Boards are row by row.

    {split}/puzzle       [N, 81] uint8. The digits of the givens, 0 for a blank cell.
    {split}/solution     [N, 81] uint8. The digits 1 to 9 of the only solution.
    {split}/givens       [N] uint8. The number of cells that are not blank.
    {split}/pool_puzzle  [N] int32. Index in the pool of the puzzle that the example was made from.
    {split}/pool         [P, 81] uint8. The pool's puzzles as in the list, before relabelling.

The solver narrows the candidates of all boards at once (naked and hidden singles, locked
candidates) and then guesses. It takes 1.4 s for 39,151 puzzles of 17 givens on one CPU core, and
2.8 s without locked candidates.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from data_prep import DataError, hdf5, input_files
from data_prep.progress import Progress
from data_prep.sudoku import lists, schema
from data_prep.sudoku.examples import MOST_GIVENS, SPLITS, make_examples, split_pools
from data_prep.sudoku.generator import generate
from data_prep.sudoku.symmetry import fingerprints

# The paper splits 49,151 puzzles: 10,000 for test, 1,000 for validation, the rest for training.
PAPER_PUZZLES, PAPER_POOLS = 49_151, {"test": 10_000, "valid": 1_000}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep sudoku`.

    Args:
      parser: the command's own parser.
    """
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument(
        "--clues",
        type=Path,
        metavar="FILE",
        help="list with one puzzle of 81 characters a line, '0' or '.' for a blank; .txt or .gz",
    )
    origin.add_argument(
        "--generate", type=int, metavar="N", help="make N puzzles with 22 to 34 givens instead"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("data/sudoku.h5"), help="file to write (%(default)s)"
    )
    for split, share in PAPER_POOLS.items():
        parser.add_argument(
            f"--{split}_pool",
            type=int,
            metavar="N",
            help=f"puzzles of the {split} pool (if not given {share:,} of every {PAPER_PUZZLES:,})",
        )
    for split, count in (("train", 10_000), ("valid", 1_000), ("test", 1_000)):
        parser.add_argument(
            f"--{split}_per_level",
            type=int,
            metavar="N",
            default=count,
            help=f"{split} examples of each level (%(default)s)",
        )
    parser.add_argument("--seed", type=int, default=0, help="of all random choices (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """Prepares the data set as the options say and prints what the file holds.

    Args:
      args: the parsed options.

    Raises:
      DataError: the list or an option is wrong.
    """
    start = time.monotonic()
    _check_options(args)
    rng = np.random.default_rng(args.seed)
    if args.clues:
        source, sha256 = args.clues.name, input_files.checksum(args.clues)
        puzzles, solutions = lists.read(args.clues, MOST_GIVENS)
    else:
        source, sha256 = "generated", ""
        puzzles, solutions = _generate(args.generate, rng)
    sizes = _pool_sizes(len(puzzles), {"test": args.test_pool, "valid": args.valid_pool})
    pools, notes = split_pools(fingerprints(puzzles, solutions), sizes, rng)
    if args.clues and not input_files.read_file(args.clues).endswith(b"\n"):
        notes.append(f"The last line of {source} has no end: is a part lost?")
    datasets = {}
    for split in SPLITS:
        pool = pools[split]
        examples = make_examples(
            puzzles[pool], solutions[pool], getattr(args, f"{split}_per_level"), rng
        )
        examples["pool"] = puzzles[pool]
        datasets |= {f"{split}/{name}": array for name, array in examples.items()}
    attributes = {
        "schema": "sudoku",
        "version": 1,
        "source": source,
        "sha256": sha256,
        "notes": ". ".join(notes),
        "seed": args.seed,
    }
    schema.check(datasets)
    hdf5.write(args.out, datasets, attributes)
    print(_summary(datasets, notes))
    print(f"{args.out} written in {time.monotonic() - start:.1f} s")


def _check_options(args: argparse.Namespace) -> None:
    least = {"generate": 3, "test_pool": 1, "valid_pool": 1, "seed": 0}
    least |= {f"{split}_per_level": 1 for split in SPLITS}
    for name, minimum in least.items():
        value = getattr(args, name)
        if value is not None and value < minimum:
            raise DataError(f"--{name} {value}: at least {minimum} is needed")


def _summary(datasets: Mapping[str, np.ndarray], notes: Sequence[str]) -> str:
    lines = [f"{'split':8}{'examples':>12}{'givens':>12}{'pool':>12}"]
    for split in SPLITS:
        givens = datasets[f"{split}/givens"]
        span = f"{givens[0]}-{givens[-1]}"
        lines.append(f"{split:8}{len(givens):12,}{span:>12}{len(datasets[f'{split}/pool']):12,}")
    return "\n".join([*lines, *notes])


def _generate(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    progress = Progress("generating", count)
    batches, done = [], 0
    for batch in generate(count, rng):
        batches.append(batch)
        done += len(batch[0])
        progress.show(done)
    puzzles, solutions = zip(*batches, strict=True)
    return np.concatenate(puzzles), np.concatenate(solutions)


def _pool_sizes(num_puzzles: int, asked: Mapping[str, int | None]) -> dict[str, int]:
    """Returns the sizes of the test and validation pools: as asked, or the paper's share."""
    sizes = {}
    for split, share in PAPER_POOLS.items():
        sizes[split] = asked[split] or max(1, round(num_puzzles * share / PAPER_PUZZLES))
    if sum(sizes.values()) >= num_puzzles:
        raise DataError(
            f"{num_puzzles:,} puzzles: {sizes['test']:,} for test and {sizes['valid']:,} for"
            " validation leave none for training; give more puzzles, or a smaller --test_pool or"
            " --valid_pool"
        )
    return sizes
