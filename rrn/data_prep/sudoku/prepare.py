"""Sudoku: puzzles with one solution, at 18 levels of difficulty (Palm et al., arXiv 1711.08028).

    python -m data_prep sudoku --clues sudoku17.txt.gz --out data/sudoku.h5
    python -m data_prep sudoku --generate 10000 --out data/sudoku.h5
    python -m data_prep sudoku --puzzles TRAIN,VALID,TEST --mixed data/sudoku.h5 --out data/hard.h5

reads a list of puzzles with one solution each, or makes such puzzles, or reads a list for each
split, and writes one HDF5 file.

With `--puzzles` an example is a puzzle of the split's list, as it is. No puzzle for validation or
test may be equivalent to one of another list. With `--neighbours` the training split also has hard
puzzles that differ from one of its list in one given; see `neighbours.py`. With `--mixed` it also
has as many examples of another prepared file's training split, drawn at random. None is of a puzzle
that is equivalent to one of validation or test.

Otherwise the puzzles are split into three pools, one for each split. An example of level k = 0..17
is a puzzle of the split's pool, drawn with replacement, with its digits permuted at random and k
further cells of its solution revealed. No puzzle of one pool can be turned into a puzzle of
another by permuting its digits, transposing the grid, or permuting bands, rows within a band,
stacks, or columns within a stack. Each puzzle of the paper's list has 17 givens; here a puzzle may
have 17 to 64.

Schema "sudoku", version 1. File attributes:

    schema   "sudoku"
    version  1
    source   the lists' file names, with commas between them, or "generated"
    sha256   the lists' checksums, likewise; "" for generated puzzles and for pipes
    notes    how the puzzles were split, in plain sentences
    seed     seed of all random choices

Datasets. Each split of train, valid and test has N examples in order of their number of givens, and
P puzzles in its pool. Boards are row by row.

    {split}/puzzle       [N, 81] uint8. The digits of the givens, 0 for a blank cell.
    {split}/solution     [N, 81] uint8. The digits 1 to 9 of the only solution.
    {split}/givens       [N] uint8. The number of cells that are not blank.
    {split}/pool_puzzle  [N] int32. Index in the pool of the puzzle that the example was made from.
    {split}/pool         [P, 81] uint8. The pool's puzzles as in the list.
"""

import argparse
import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError, hdf5, input_files
from rrn.data_prep.failures import SEED, number, out_file
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku import lists, schema
from rrn.data_prep.sudoku.examples import (
    MOST_GIVENS,
    SPLITS,
    as_they_are,
    make_examples,
    mix,
    split_pools,
)
from rrn.data_prep.sudoku.generator import generate
from rrn.data_prep.sudoku.neighbours import neighbours
from rrn.data_prep.sudoku.solver import solve
from rrn.data_prep.sudoku.symmetry import fingerprints

# The paper splits 49,151 puzzles: 10,000 for test, 1,000 for validation, the rest for training.
PAPER_PUZZLES, PAPER_POOLS = 49_151, {"test": 10_000, "valid": 1_000}
PER_LEVEL = {"train": 10_000, "valid": 1_000, "test": 1_000}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep sudoku`."""
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument(
        "--clues",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="lists of puzzles, plain or .gz; - for standard input",
    )
    origin.add_argument(
        "--generate",
        type=number(3),
        metavar="N",
        help="make N puzzles with 22 to 34 givens instead",
    )
    origin.add_argument(
        "--puzzles",
        type=_three_files,
        metavar="TRAIN,VALID,TEST",
        help="three such lists, whose puzzles are the examples as they are",
    )
    parser.add_argument(
        "--mixed",
        type=Path,
        metavar="FILE",
        help="with --puzzles: add as many training examples of this prepared Sudoku file",
    )
    parser.add_argument(
        "--neighbours",
        action="store_true",
        help="with --puzzles: add to training all hard puzzles that differ in one given",
    )
    parser.add_argument(
        "--out", type=out_file, default="data/sudoku.h5", help="file to write (%(default)s)"
    )
    for split, count in PER_LEVEL.items():
        parser.add_argument(
            f"--{split}_per_level",
            type=number(),
            metavar="N",
            help=f"{split} examples of each level ({count:,})",
        )
    parser.add_argument("--seed", type=SEED, default=0, help="of all random choices (%(default)s)")


def _three_files(text: str) -> list[Path]:
    if text.count(",") != 2:
        raise argparse.ArgumentTypeError(f"{text}: expected three files, TRAIN,VALID,TEST")
    return [Path(name) for name in text.split(",")]


def run(args: argparse.Namespace) -> None:
    """Prepares the data set as the options say, and prints what the file holds."""
    start = time.monotonic()
    _check_options(args)
    rng = np.random.default_rng(args.seed)
    prepare = _from_three_lists if args.puzzles else _from_one_list
    datasets, lists_, notes = prepare(args, rng)
    attributes = {
        "schema": "sudoku",
        "version": 1,
        "source": ",".join(path.name for path in lists_) or "generated",
        # A pipe can be read only once.
        "sha256": ",".join(input_files.checksum(p) if p.is_file() else "" for p in lists_),
        "notes": ". ".join(notes),
        "seed": args.seed,
    }
    schema.check(datasets)
    hdf5.write(args.out, datasets, attributes)
    print(_summary(datasets, notes))
    print(f"{args.out} written in {time.monotonic() - start:.1f} s")


def _from_one_list(args, rng):
    """(datasets, the lists that were read, notes) of puzzles that are split here."""
    if args.clues:
        listed, solutions = lists.read(args.clues, MOST_GIVENS)
        puzzles = listed.digits
    else:
        puzzles, solutions = _generate(args.generate, rng)
    pools, notes = split_pools(fingerprints(puzzles, solutions), _pool_sizes(puzzles), rng)
    datasets = {}
    for split in SPLITS:
        pool = pools[split]
        per_level = getattr(args, f"{split}_per_level") or PER_LEVEL[split]
        examples = make_examples(puzzles[pool], solutions[pool], per_level, rng)
        datasets |= {f"{split}/{name}": array for name, array in examples.items()}
        datasets[f"{split}/pool"] = puzzles[pool]
    return datasets, args.clues or [], notes


def _generate(count, rng):
    progress, batches = Progress("generating", count), []
    for batch in generate(count, rng):
        batches.append(batch)
        progress.show(sum(len(puzzles) for puzzles, _ in batches))
    return map(np.concatenate, zip(*batches, strict=True))


def _pool_sizes(puzzles):
    """The numbers of puzzles for test and validation: the paper's share."""
    sizes = {
        split: max(1, round(len(puzzles) * share / PAPER_PUZZLES))
        for split, share in PAPER_POOLS.items()
    }
    if sum(sizes.values()) >= len(puzzles):
        raise DataError(
            f"{len(puzzles):,} puzzles: {sizes['test']:,} for test and {sizes['valid']:,} for"
            " validation leave none for training; give more puzzles"
        )
    return sizes


def _from_three_lists(args, rng):
    """The same of a list for each split."""
    datasets, read, notes = {}, [], ["Each split has a list of its own"]
    for split, path in zip(SPLITS, args.puzzles, strict=True):
        puzzles, solutions = lists.read([path])
        read.append((puzzles, fingerprints(puzzles.digits, solutions)))
        examples = as_they_are(puzzles.digits, solutions)
        datasets |= {f"{split}/{name}": array for name, array in examples.items()}
    for (earlier, known), (later, kinds) in itertools.combinations(read, 2):
        for index in np.flatnonzero(np.isin(kinds, known)):
            first = earlier.place((known == kinds[index]).argmax())
            raise DataError(
                f"{later.place(index)}: the puzzle of {first}, the same or permuted; expected "
                "another one"
            )
    if args.neighbours:
        own = datasets["train/puzzle"], datasets["train/solution"]
        *found, kinds = neighbours(own[0])
        new = ~np.isin(kinds, np.concatenate([known for _, known in read]))
        both = (np.concatenate([a, b[new]]) for a, b in zip(own, found, strict=True))
        notes.append(f"{new.sum():,} training puzzles differ from one of the list in one given")
        datasets |= {f"train/{name}": array for name, array in as_they_are(*both).items()}
    if args.mixed:
        train = {name: datasets[f"train/{name}"] for name in examples}
        others = _training_examples(args.mixed, np.concatenate([kinds for _, kinds in read[1:]]))
        notes.append(f"{len(train['givens']):,} training examples are from {args.mixed.name}")
        mixed = mix(train, others, rng)
        datasets |= {f"train/{name}": array for name, array in mixed.items()}
    return datasets, args.puzzles, notes


def _training_examples(path, refused):
    """The training split of a prepared Sudoku file, without puzzles of the kinds refused."""
    contents = hdf5.read(path)
    if (found := contents.attributes.get("schema")) != "sudoku":
        raise DataError(f"--mixed {path}: holds {found!r}; expected a prepared Sudoku file")
    datasets = contents.datasets.items()
    train = {n.removeprefix("train/"): a for n, a in datasets if n.startswith("train/")}
    solutions, _ = solve(train["pool"], max_solutions=1)
    kept = ~np.isin(fingerprints(train["pool"], solutions), refused)[train["pool_puzzle"]]
    return {name: array if name == "pool" else array[kept] for name, array in train.items()}


def _check_options(args: argparse.Namespace) -> None:
    unused = dict.fromkeys((f"{split}_per_level" for split in SPLITS), "--clues or --generate")
    unused = unused if args.puzzles else {"mixed": "--puzzles", "neighbours": "--puzzles"}
    for name, other in unused.items():
        if getattr(args, name):
            raise DataError(f"--{name}: it goes with {other}")


def _summary(datasets: Mapping[str, np.ndarray], notes: Sequence[str]) -> str:
    lines = [f"{'split':8}{'examples':>12}{'givens':>12}{'pool':>12}"]
    for split in SPLITS:
        givens = datasets[f"{split}/givens"]
        span = f"{givens[0]}-{givens[-1]}"
        lines.append(f"{split:8}{len(givens):12,}{span:>12}{len(datasets[f'{split}/pool']):12,}")
    return "\n".join([*lines, *notes])
