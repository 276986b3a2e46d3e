"""Sudoku: puzzles with one solution, at 18 levels of difficulty (Palm et al., arXiv 1711.08028).

    python -m data_prep sudoku --clues sudoku17.txt.gz --out data/sudoku.h5
    python -m data_prep sudoku --generate 10000 --out data/sudoku.h5
    python -m data_prep sudoku --generate 10000 --hard --out data/hard.h5
    python -m data_prep sudoku --puzzles TRAIN,VALID,TEST --mixed data/sudoku.h5 --out data/hard.h5

reads a list of puzzles with one solution each, or makes such puzzles, or reads a list for each
split, and writes one HDF5 file.

With `--puzzles` an example is a puzzle of the split's list, as it is. No puzzle of the lists for
validation and test may be equivalent to one of another list. With `--mixed` the training split has
examples of another prepared file's training split besides, drawn at random, of which
`--mixed_share` says how large a share of all they are; none is of a puzzle that is equivalent to
one of validation or test.

With `--generate N --hard` the puzzles are as hard as those that players rate hardest. They are made
by local search (`data_prep.sudoku.hard`), and are the examples as they are, as with `--puzzles`.
Splits share no puzzle and no solution grid, even turned and relabelled, and no ancestors.

Otherwise the puzzles are split into three pools, one for each split. An example of level k = 0..17
is a puzzle of the split's pool, drawn with replacement, with its digits relabelled at random and k
further cells of its solution revealed. No puzzle of one pool can be turned into a puzzle of
another by relabelling its digits, transposing the grid, or permuting bands, rows within a band,
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
    {split}/pool         [P, 81] uint8. The pool's puzzles as in the list, before relabelling.

How hard a list is, is measured by guesses: how often the solver has to split a board in two before
it knows that a puzzle's solution is the only one. Most puzzles of 17 givens take none.

The solver narrows the candidates of all boards at once (naked and hidden singles, locked
candidates) and then guesses. It takes 1.4 s for 39,151 puzzles of 17 givens on one CPU core, and
2.8 s without locked candidates.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError, hdf5, input_files
from rrn.data_prep.progress import Progress
from rrn.data_prep.sudoku import hard, lists, schema
from rrn.data_prep.sudoku.examples import (
    MOST_GIVENS,
    SPLITS,
    as_they_are,
    make_examples,
    mix,
    split_pools,
)
from rrn.data_prep.sudoku.generator import generate
from rrn.data_prep.sudoku.solver import search, solve
from rrn.data_prep.sudoku.symmetry import fingerprints, grid_fingerprints

# The paper splits 49,151 puzzles: 10,000 for test, 1,000 for validation, the rest for training.
PAPER_PUZZLES, PAPER_POOLS = 49_151, {"test": 10_000, "valid": 1_000}
PER_LEVEL = {"train": 10_000, "valid": 1_000, "test": 1_000}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep sudoku`.

    Args:
      parser: the command's own parser.
    """
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument(
        "--clues",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="lists of puzzles in any usual form, plain or .gz; - for standard input",
    )
    origin.add_argument(
        "--generate", type=int, metavar="N", help="make N puzzles with 22 to 34 givens instead"
    )
    parser.add_argument(
        "--hard",
        action="store_true",
        help="with --generate: puzzles as hard as the hardest that players rate; takes long",
    )
    origin.add_argument(
        "--puzzles",
        metavar="TRAIN,VALID,TEST",
        help="three such lists, whose puzzles are the examples as they are",
    )
    parser.add_argument(
        "--mixed",
        type=Path,
        metavar="FILE",
        help="with --puzzles: a prepared Sudoku file, of whose training examples some are added",
    )
    parser.add_argument(
        "--mixed_share",
        type=float,
        metavar="S",
        help="which share of the training examples these are (0.5)",
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
    for split, count in PER_LEVEL.items():
        parser.add_argument(
            f"--{split}_per_level",
            type=int,
            metavar="N",
            help=f"{split} examples of each level ({count:,})",
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
    if args.hard:
        prepare = _from_hard_families
    else:
        prepare = _from_three_lists if args.puzzles else _from_one_list
    datasets, lists_, notes = prepare(args, rng)
    attributes = {
        "schema": "sudoku",
        "version": 1,
        "source": ",".join(path.name for path in lists_) or "generated",
        "sha256": ",".join(_checksum(path) for path in lists_),
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
        listed, solutions, guesses = lists.read(args.clues, MOST_GIVENS)
        puzzles = listed.digits
        print(_hardness(", ".join(path.name for path in args.clues), guesses))
    else:
        puzzles, solutions = _generate(args.generate, rng)
    sizes = _pool_sizes(len(puzzles), {"test": args.test_pool, "valid": args.valid_pool})
    pools, notes = split_pools(fingerprints(puzzles, solutions), sizes, rng)
    if args.clues:
        notes += _cut(listed)
    datasets = {}
    for split in SPLITS:
        pool = pools[split]
        per_level = getattr(args, f"{split}_per_level") or PER_LEVEL[split]
        examples = make_examples(puzzles[pool], solutions[pool], per_level, rng)
        examples["pool"] = puzzles[pool]
        datasets |= {f"{split}/{name}": array for name, array in examples.items()}
    return datasets, args.clues or [], notes


def _from_three_lists(args, rng):
    """The same of a list for each split."""
    paths = [Path(path) for path in args.puzzles.split(",")]
    datasets, read, kinds, notes = {}, [], [], ["Each split has a list of its own"]
    for split, path in zip(SPLITS, paths, strict=True):
        puzzles, solutions, guesses = lists.read([path])
        read.append(puzzles)
        notes += _cut(puzzles)
        kinds.append(fingerprints(puzzles.digits, solutions))
        print(_hardness(path.name, guesses))
        examples = as_they_are(puzzles.digits, solutions)
        datasets |= {f"{split}/{name}": array for name, array in examples.items()}
    _check_apart(read, kinds)
    if args.mixed:
        share = 0.5 if args.mixed_share is None else args.mixed_share
        train = {name: datasets[f"train/{name}"] for name in examples}
        others = _training_examples(args.mixed, np.concatenate(kinds[1:]))
        mixed = mix(train, others, share, rng)
        number = len(mixed["givens"]) - len(train["givens"])
        notes.append(f"{number:,} training examples are from {args.mixed.name}")
        datasets |= {f"train/{name}": array for name, array in mixed.items()}
    return datasets, paths, notes


def _from_hard_families(args, rng):
    """The same of hard puzzles that are made, with families of their own for each split."""
    pools = _pool_sizes(args.generate, {"test": args.test_pool, "valid": args.valid_pool})
    pools["train"] = args.generate - sum(pools.values())
    sizes = [
        (s, min(hard.MOST, pools[s] - i)) for s in SPLITS for i in range(0, pools[s], hard.MOST)
    ]
    found = {split: [] for split in SPLITS}
    progress, done = Progress("generating", args.generate), 0
    families = hard.hard_families([size for _, size in sizes], args.seed, hard.LEVEL)
    for (split, size), family in zip(sizes, families, strict=True):
        found[split].append(family)
        done += size
        progress.show(done)
    datasets, kinds = {}, []
    for split in SPLITS:
        puzzles, solutions = (np.concatenate(parts) for parts in zip(*found[split], strict=True))
        kinds.append(grid_fingerprints(solutions))
        print(_hardness(f"{split}, {len(puzzles):,} puzzles,", search(puzzles)[2]))
        examples = as_they_are(puzzles, solutions)
        datasets |= {f"{split}/{name}": array for name, array in examples.items()}
    shared = sum(np.isin(kinds[i], np.concatenate(kinds[:i])).sum() for i in (1, 2))
    if shared:
        raise DataError(f"{shared} solution grids are in two splits; take another --seed")
    notes = ["Hard puzzles are made by local search, each split's from random ones of its own"]
    return datasets, [], notes


def _cut(listed):
    """A sentence for each file of a list whose last line may lack its end."""
    return [
        f"The last line of {Path(name).name} has no end: is a part lost?" for name in listed.cut
    ]


def _check_apart(lists_, kinds):
    """Refuses a puzzle for validation or test that is equivalent to one of a list before."""
    for i, puzzles in enumerate(lists_):
        for other, kind in zip(lists_[:i], kinds[:i], strict=True):
            same = np.isin(kinds[i], kind)
            if same.any():
                index = same.argmax()
                there = (kind == kinds[i][index]).argmax()
                raise DataError(
                    f"{puzzles.place(index)}: the puzzle of {other.place(there)}, the same or "
                    "turned and relabelled; expected another one"
                )


def _checksum(path):
    """A file's checksum; "" for a pipe, which can be read only once."""
    return input_files.checksum(path) if path.is_file() else ""


def _training_examples(path, refused):
    """The training split of a prepared Sudoku file, without puzzles of the kinds refused."""
    contents = hdf5.read(path)
    if (found := contents.attributes["schema"]) != "sudoku":
        raise DataError(f"--mixed {path}: holds {found!r}; expected a prepared Sudoku file")
    datasets = contents.datasets.items()
    train = {n.removeprefix("train/"): a for n, a in datasets if n.startswith("train/")}
    solutions, _ = solve(train["pool"], max_solutions=1)
    kept = ~np.isin(fingerprints(train["pool"], solutions), refused)[train["pool_puzzle"]]
    return {name: array if name == "pool" else array[kept] for name, array in train.items()}


def _hardness(name, guesses):
    """A sentence on how many guesses the puzzles of a list take."""
    none, tenth = np.mean(guesses == 0), np.quantile(guesses, 0.9)
    return (
        f"{name} takes {np.median(guesses):.0f} guesses in the median, {guesses.mean():.1f} in the "
        f"mean, {tenth:.0f} or more in a tenth of its puzzles, and none in {100 * none:.0f} %"
    )


def _check_options(args: argparse.Namespace) -> None:
    least = {"generate": 3, "test_pool": 1, "valid_pool": 1, "seed": 0}
    least |= {f"{split}_per_level": 1 for split in SPLITS}
    for name, minimum in least.items():
        value = getattr(args, name)
        if value is not None and value < minimum:
            raise DataError(f"--{name} {value}: at least {minimum} is needed")
    of_one_list = [n for n in least if n.endswith(("_pool", "_per_level"))]
    if args.hard and args.generate is None:
        raise DataError("--hard: it goes with --generate")
    per_level = [n for n in of_one_list if n.endswith("_per_level")]
    unused = dict.fromkeys(per_level if args.hard else [], "--generate without --hard")
    if args.puzzles:
        unused |= dict.fromkeys(of_one_list, "--clues or --generate")
    else:
        unused |= dict.fromkeys(["mixed", "mixed_share"], "--puzzles")
    for name, origin in unused.items():
        if getattr(args, name) is not None:
            raise DataError(f"--{name} {getattr(args, name)}: it goes with {origin}")
    if args.puzzles and len(args.puzzles.split(",")) != len(SPLITS):
        raise DataError(f"--puzzles {args.puzzles}: expected three files, TRAIN,VALID,TEST")
    if args.mixed_share is not None and not 0.0 < args.mixed_share < 1.0:
        raise DataError(f"--mixed_share {args.mixed_share}: expected above 0 and below 1")
    if args.mixed_share is not None and not args.mixed:
        raise DataError(f"--mixed_share {args.mixed_share}: it goes with --mixed")


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
