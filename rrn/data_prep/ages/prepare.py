"""Age arithmetic: who is how much older than whom, along a tree (Palm et al., arXiv 1711.08028).

    python -m data_prep ages --out data/ages.h5

writes all labelled trees on 8 people, split at random, as one HDF5 file. The ages are not part of
it: a task draws them. It tells the difference of ages along each edge of a tree, and one person's
age. A question asks for another person's age, and is the harder the farther the two people are
apart in the tree (0 to 7 edges).

Schema "ages", version 1. File attributes:

    schema   "ages"
    version  1
    notes    ""
    seed     seed of all random choices

Datasets. There are 8^6 = 262,144 trees. Each is in one of the splits train, valid and test, which
hold T trees each, in random order. Test has a tenth of all trees, and validation is taken from the
rest.

    {split}/edges     [T, 7, 2] uint8. The two people of each edge, 0 to 7, the lower one first.
    {split}/distance  [T, 8, 8] uint8. The number of edges from person to person.
"""

import argparse
import time

import numpy as np

from rrn.data_prep import hdf5
from rrn.data_prep.ages import schema
from rrn.data_prep.ages.trees import NUM_TREES, all_sequences, decode
from rrn.data_prep.failures import SEED, number, out_file
from rrn.data_prep.layout import SPLITS

NUM_TEST = round(NUM_TREES / 10)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep ages`."""
    parser.add_argument(
        "--out", type=out_file, default="data/ages.h5", help="file to write (%(default)s)"
    )
    parser.add_argument(
        "--valid",
        type=number(1, NUM_TREES - NUM_TEST - 1),
        metavar="N",
        default=10_000,
        help="training trees that become the validation split (%(default)s)",
    )
    parser.add_argument("--seed", type=SEED, default=0, help="of the split (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """Prepares the data set as the options say and prints what the file holds."""
    start = time.monotonic()
    edges, distance = decode(all_sequences())
    order = np.random.default_rng(args.seed).permutation(NUM_TREES)
    ends = np.cumsum([NUM_TREES - NUM_TEST - args.valid, args.valid])
    datasets = {}
    for split, trees in zip(SPLITS, np.split(order, ends), strict=True):
        datasets |= {f"{split}/edges": edges[trees], f"{split}/distance": distance[trees]}
    attributes = {"schema": "ages", "version": 1, "notes": "", "seed": args.seed}
    schema.check(datasets)
    hdf5.write(args.out, datasets, attributes)
    for split in SPLITS:
        print(f"{split:8}{len(datasets[f'{split}/edges']):12,} trees")
    print(f"{args.out} written in {time.monotonic() - start:.1f} s")
