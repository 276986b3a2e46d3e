"""Pretty-CLEVR: from object to nearest object (Palm et al., arXiv 1711.08028).

    python -m data_prep pretty_clevr --out data/pretty_clevr.h5
    python -m data_prep pretty_clevr --scenes 20000,1000,1000 --images 128 \
        --out data/pretty_clevr_128.h5

draws scenes, with --images also as pictures, and writes one HDF5 file.

A scene is 8 objects in the unit square, at least 0.1 apart. Each of 8 colours and of 8 markers
occurs once. All positions of a scene are drawn at once. Where two are too close (57 % of the
draws), all are drawn again, so that every allowed scene is equally likely. The authors placed one
object after the other, which is not quite the same: their first object is uniform in the square,
and the others avoid it. The mean distance to the nearest object is 0.234 either way.

A question names an object by its colour or its marker, and a number of jumps, 0 to 7. A jump goes
to the nearest object that the walk has not visited. If the question names a colour, the answer is
the last object's marker; if it names a marker, the answer is that object's colour. So a scene has
8 objects x 8 jumps x 2 = 128 questions. They are not stored, because indexing gives the answer:

    start, = np.flatnonzero(colours[scene] == colour)
    answer = markers[scene, order[scene, start, jumps]]

and the same with colours and markers swapped.

Schema "pretty_clevr", version 1. File attributes:

    schema   "pretty_clevr"
    version  1
    notes    ""
    seed     seed of all random choices

Datasets. Each split of train, valid and test has its own random numbers, and S scenes of 8 objects.

    colour_names        [8] strings. The index is the colour's id.
    marker_names        [8] strings. The index is the marker's id.
    {split}/positions   [S, 8, 2] float32. x (to the right) and y (down) in [0, 1).
    {split}/colours     [S, 8] uint8. Each object's colour.
    {split}/markers     [S, 8] uint8. Each object's marker.
    {split}/order       [S, 8, 8] uint8. order[s, i, k] is the object that k jumps from object i
                        lead to. Of two equally far, the one with the lower index counts as nearer.
    {split}/images      [S, size, size, 3] uint8, with --images: red, green and blue, row by row.
                        Position p is (p + 0.1) / 1.2 * size pixels from the left upper corner.
                        Every image is compressed alone, so that a reader of a few images
                        decompresses only these.
"""

import argparse
import time

import numpy as np

from rrn.data_prep import hdf5
from rrn.data_prep.failures import SEED, number, numbers, out_file
from rrn.data_prep.layout import SPLITS
from rrn.data_prep.pretty_clevr import schema
from rrn.data_prep.pretty_clevr.images import COLOURS, LARGEST, MARKERS, SMALLEST, render
from rrn.data_prep.pretty_clevr.scenes import OBJECTS, make_scenes
from rrn.data_prep.progress import Progress

QUESTIONS = OBJECTS * OBJECTS * 2  # in a scene
IMAGE_BLOCK = 256  # images rendered at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep pretty_clevr`."""
    parser.add_argument(
        "--out", type=out_file, default="data/pretty_clevr.h5", help="file to write (%(default)s)"
    )
    parser.add_argument(
        "--scenes",
        type=numbers(3),
        metavar="TRAIN,VALID,TEST",
        default=(100_000, 1_000, 1_000),
        help="scenes of each split (100000,1000,1000)",
    )
    parser.add_argument(
        "--images",
        type=number(SMALLEST, LARGEST),
        metavar="SIZE",
        help="also render images of SIZE x SIZE pixels",
    )
    parser.add_argument("--seed", type=SEED, default=0, help="of all random choices (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """Prepares the data set as the options say and prints what the file holds."""
    start = time.monotonic()
    datasets = {
        "colour_names": np.array(list(COLOURS), object),
        "marker_names": np.array(list(MARKERS), object),
    }
    for index, (split, count) in enumerate(zip(SPLITS, args.scenes, strict=True)):
        scenes = make_scenes(count, np.random.default_rng([args.seed, index]))
        datasets |= {f"{split}/{name}": array for name, array in scenes.items()}
        if args.images:
            datasets[f"{split}/images"] = _render(split, scenes, args.images)
    attributes = {"schema": "pretty_clevr", "version": 1, "notes": "", "seed": args.seed}
    schema.check(datasets)
    hdf5.write(args.out, datasets, attributes)
    print(f"{'split':8}{'scenes':>12}{'questions':>12}")
    for split, count in zip(SPLITS, args.scenes, strict=True):
        print(f"{split:8}{count:12,}{count * QUESTIONS:12,}")
    print(f"{args.out} written in {time.monotonic() - start:.1f} s")


def _render(split, scenes, size):
    """The images of a split's scenes, [scenes, size, size, 3] uint8."""
    positions, colours, markers = (scenes[name] for name in ("positions", "colours", "markers"))
    images = np.empty((len(positions), size, size, 3), np.uint8)
    progress = Progress(f"{split} images", len(images))
    for first in range(0, len(images), IMAGE_BLOCK):
        block = slice(first, first + IMAGE_BLOCK)
        images[block] = render(positions[block], colours[block], markers[block], size)
        progress.show(min(first + IMAGE_BLOCK, len(images)))
    return images
