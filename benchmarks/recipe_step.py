"""An update of each stage of some recipes, in turn, as training makes it; or its longest kernels.

    python -m benchmarks.recipe_step configs/babi.py:quick [FILE:VARIANT ...] [--repeats N]
        [--config.FIELD=VALUE ...] [--profile] [--json FILE]

Changes of fields are of all recipes.
"""

import functools
import sys

from benchmarks import harness
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
    return harness.Case(
        f"{name} {stage.name}", make, size, compiled=compiled, dtype=dtype, units=size
    )


def cases(name, changes, batches):
    config = read_config(name, changes)
    data = read_prepared(config.data.path)
    return [case(name, config, stage, data, batches) for stage in config.train.stages]


def main():
    others, changes = split_arguments(sys.argv[1:])
    parser = harness.argument_parser(__doc__, 16)
    parser.add_argument("recipes", nargs="+", metavar="FILE:VARIANT")
    arguments = parser.parse_args(others)
    found = [c for name in arguments.recipes for c in cases(name, changes, arguments.repeats)]
    harness.run([("Updates of recipes", found)], "examples", arguments)


if __name__ == "__main__":
    harness.start(main)
