"""An update of each stage of some recipes, in turn, as training makes it; or its longest kernels.

    python -m benchmarks.recipe_step configs/babi.py:quick [FILE:VARIANT ...] [--repeats N]
        [--config.FIELD=VALUE ...] [--profile] [--seconds N] [--json FILE]

The columns are those of `benchmarks.sudoku_step`, without counts of operations. Batches are made
before. Changes of fields are of all recipes.
"""

import argparse
import functools
import sys

from benchmarks import harness
from benchmarks.timing import Case
from rrn.config import replace
from rrn.config_file import read_config, split_arguments
from rrn.files.data import read_prepared
from rrn.tasks import create_task


def case(name, config, stage, data, batches):
    """The case of one of a recipe's stages."""
    stages = (replace(stage, error_share=0.0),)  # no validation has given errors
    config = replace(config, train={"stages": stages})
    create = functools.partial(create_task, config.model, data)
    compiled = harness.ON_GPU

    def make():
        return harness.training_step(create, config, data.arrays("train"), compiled, batches)

    size, dtype = config.train.batch_size, config.model.compute_dtype
    return Case(f"{name} {stage.name}", make, size, compiled=compiled, dtype=dtype, units=size)


def cases(name, changes, batches):
    config = read_config(name, changes)
    data = read_prepared(config.data.path)
    return [case(name, config, stage, data, batches) for stage in config.train.stages]


def main():
    others, changes = split_arguments(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("recipes", nargs="+", metavar="FILE:VARIANT")
    parser.add_argument("--repeats", type=int, default=16, help="timed updates of every stage")
    parser.add_argument("--profile", action="store_true", help="the longest kernels, not times")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="a limit")
    parser.add_argument("--json", help="write the figures to this file")
    parser.set_defaults(memory=False, peak_memory_of=None)
    arguments = parser.parse_args(others)
    found = [c for name in arguments.recipes for c in cases(name, changes, arguments.repeats)]
    harness.run(__spec__.name, [("Updates of recipes", found)], "examples", arguments)


if __name__ == "__main__":
    main()
