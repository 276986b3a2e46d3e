"""What several of MNIST's tests use."""

import struct

from rrn.data_prep.__main__ import main

COUNTS = {"train": 40, "test": 12}
SMALL = ("--valid", "10")


def prepare(source, out, *options):
    return main(["mnist", "--source", str(source), "--out", str(out), *SMALL, *options])


def prepare_rendered(out, *options):
    return main(["mnist", "--rendered", "--out", str(out), *options])


def idx(array):
    """The bytes of an IDX file."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
