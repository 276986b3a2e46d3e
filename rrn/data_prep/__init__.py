"""Prepares public data sets as HDF5 files: `python -m data_prep DATA_SET --help`.

This package runs without TensorFlow and never imports `rrn`.

A data set is a package with a module `prepare`, which has `add_arguments(parser)` and `run(args)`
and describes the file that it writes, and a module `schema`, whose `check` validates the arrays of
that file; or one module with all three. It is called as its file's schema is. No other place lists
it; `python -m data_prep --help` finds all.
"""


class DataError(ValueError):
    """Input that cannot be prepared.

    The message names the file, what is wrong with it and what would be right.
    """
