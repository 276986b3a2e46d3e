"""What several of Pretty-CLEVR's tests use."""

from rrn.data_prep.__main__ import main

COUNTS = {"train": 300, "valid": 20, "test": 30}


def prepare(out, scenes="300,20,30", *options):
    return main(["pretty_clevr", "--scenes", scenes, "--out", str(out), *options])
