"""MNIST: images of digits (LeCun et al., 1998), or digits rendered in fonts.

    python -m data_prep mnist --source mnist.npz --out data/mnist.h5
    python -m data_prep mnist --rendered --out data/mnist.h5

reads MNIST from a folder of its four IDX files (.gz or unpacked) or from mnist.npz, or renders
digits where MNIST is not available, and writes one HDF5 file. Rendered digits are not MNIST: they
are printed digits, randomly rotated, sheared, stretched, bent and shifted. A result on them says
nothing about handwriting, and should repeat the attribute `notes`.

Schema "mnist", version 1. File attributes:

    schema   "mnist"
    version  1
    source   the folder's or file's name, or "rendered"
    sha256   the file's checksum; "" for a folder and for rendered digits
    notes    "digits rendered in 14 fonts, not MNIST" for rendered digits, else ""
    seed     seed of all random choices

Datasets, in each split of train, valid and test with N digits. Validation digits are drawn from
the training digits.

    {split}/image  [N, 28, 28] uint8. 0 for paper, 255 for ink.
    {split}/label  [N] uint8. The digit, 0 to 9.
"""

import argparse
import time

import numpy as np

from rrn.data_prep import DataError, hdf5, input_files
from rrn.data_prep.failures import SEED, number, numbers, out_file
from rrn.data_prep.layout import SPLITS
from rrn.data_prep.mnist import files, schema
from rrn.data_prep.mnist.digits import FONTS, draw
from rrn.data_prep.progress import Progress

COUNTS = (60_000, 10_000)  # MNIST's training and test digits
BLOCK = 500  # digits rendered at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep mnist`."""
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument(
        "--source", metavar="PATH", help="folder of MNIST's four files, or mnist.npz, or its URL"
    )
    origin.add_argument(
        "--rendered", action="store_true", help="render digits in fonts instead; not MNIST"
    )
    parser.add_argument(
        "--out", type=out_file, default="data/mnist.h5", help="file to write (%(default)s)"
    )
    parser.add_argument(
        "--valid",
        type=number(),
        metavar="N",
        default=5_000,
        help="training digits that become the validation split (%(default)s)",
    )
    parser.add_argument(
        "--counts", type=numbers(2), metavar="TRAIN,TEST", help="digits to render (60000,10000)"
    )
    parser.add_argument("--seed", type=SEED, default=0, help="of all random choices (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """Prepares the data set as the options say and prints what the file holds."""
    start = time.monotonic()
    if args.source and args.counts:
        raise DataError("--counts: only digits that are --rendered can be counted out")
    if args.rendered:
        source, sha256 = "rendered", ""
        notes = f"digits rendered in {len(FONTS)} fonts, not MNIST"
        counts = zip(("train", "test"), args.counts or COUNTS, strict=True)
        digits = {
            split: render(count, split, np.random.default_rng([args.seed, index]))
            for index, (split, count) in enumerate(counts)
        }
    else:
        path = input_files.locate(args.source, args.out.parent)
        source, sha256, notes = path.resolve().name, input_files.checksum(path), ""
        digits = files.read(path)
    datasets = split_off_validation(digits, args.valid, args.seed)
    attributes = {"schema": "mnist", "version": 1, "source": source, "sha256": sha256}
    attributes |= {"notes": notes, "seed": args.seed}
    try:
        schema.check(datasets)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    hdf5.write(args.out, datasets, attributes)
    for split in SPLITS:
        print(f"{split:8}{len(datasets[f'{split}/label']):12,} digits")
    if notes:
        print(notes)
    print(f"{args.out} written in {time.monotonic() - start:.1f} s")


def render(count: int, split: str, rng: np.random.Generator) -> files.Digits:
    """Renders digits in random order and random fonts, each of the ten equally often."""
    labels = rng.permutation(count) % 10
    images = []
    progress = Progress(f"{split} digits", count)
    for start in range(0, count, BLOCK):
        block = labels[start : start + BLOCK]
        images.append(draw(block, rng.integers(len(FONTS), size=len(block)), rng))
        progress.show(start + len(block))
    return np.concatenate(images), labels.astype(np.uint8)


def split_off_validation(
    digits: dict[str, files.Digits], num_valid: int, seed: int
) -> dict[str, np.ndarray]:
    """Moves some of the training digits, drawn at random, to validation; returns the datasets."""
    (images, labels), test = digits["train"], digits["test"]
    if num_valid >= len(labels):
        raise DataError(
            f"--valid {num_valid}: leaves none of the {len(labels):,} training digits for training"
        )
    is_valid = np.zeros(len(labels), bool)
    rng = np.random.default_rng(seed)
    is_valid[rng.choice(len(labels), num_valid, replace=False)] = True
    parts = {"train": ~is_valid, "valid": is_valid}
    datasets = {"test/image": test[0], "test/label": test[1]}
    for split, chosen in parts.items():
        datasets |= {f"{split}/image": images[chosen], f"{split}/label": labels[chosen]}
    return datasets
