"""Prepares public data sets as HDF5 files: `python -m data_prep DATA_SET --help`.

This package runs without TensorFlow and never imports the rest of `rrn`.

A data set is a package of its schema's name, with a module `prepare` that has
`add_arguments(parser)` and `run(args)`, and a module `schema` whose `check` validates the arrays of
the file; or one module with all three. It is found by its name.
"""


class DataError(ValueError):
    """Input that cannot be prepared: the file, what is wrong with it and what would be right."""
