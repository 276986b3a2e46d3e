"""Rumours: who hears what person 0 has heard?

    python -m data_prep rumours --out data/rumours.h5

Schema "rumours", version 1. Of 16 people, 24 times one tells another everything they hear. Each of
the splits train, valid and test has N such groups of people:

    {split}/teller    [N, 24] uint8. Who tells.
    {split}/listener  [N, 24] uint8. Who is told.
    {split}/heard     [N, 16] uint8. 1 for those who hear in the end what person 0 has heard.
"""

from pathlib import Path

import numpy as np

from rrn.data_prep import hdf5

PEOPLE, TOLD = 16, 24
SIZES = {"train": 20_000, "valid": 1_000, "test": 1_000}


def draw(random, number):
    """Returns the arrays of `number` groups of people."""
    teller = random.integers(PEOPLE, size=[number, TOLD])
    listener = (teller + random.integers(1, PEOPLE, size=[number, TOLD])) % PEOPLE
    arrays = {"teller": teller, "listener": listener, "heard": who_hears(teller, listener)}
    return {name: array.astype(np.uint8) for name, array in arrays.items()}


def who_hears(teller, listener):
    """Returns who hears in the end what person 0 has heard, booleans [groups, 16]."""
    group = np.arange(len(teller))
    heard = np.zeros([len(teller), PEOPLE], bool)
    heard[:, 0] = True
    for _ in range(PEOPLE):  # in each round it goes one step farther
        for i in range(TOLD):
            heard[group, listener[:, i]] |= heard[group, teller[:, i]]
    return heard


def add_arguments(parser):
    parser.add_argument("--out", type=Path, default=Path("data/rumours.h5"))
    parser.add_argument("--seed", type=int, default=0)


def run(options):
    random, datasets = np.random.default_rng(options.seed), {}
    for split, number in SIZES.items():
        for name, array in draw(random, number).items():
            datasets[f"{split}/{name}"] = array
    attributes = {"schema": "rumours", "version": 1, "notes": "", "seed": options.seed}
    hdf5.write(options.out, datasets, attributes)
