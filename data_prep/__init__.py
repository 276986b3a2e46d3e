"""Prepares public data sets as HDF5 files: `python -m data_prep DATA_SET --help`.

This package runs without TensorFlow and never imports `rrn`. A data set is one module with
`add_arguments(parser)` and `run(args)`, entered in the table of `data_prep/__main__.py`.
"""


class DataError(ValueError):
    """Input that cannot be prepared: which file, what is wrong with it, what would be right."""
