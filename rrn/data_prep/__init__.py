"""Prepares public data sets as HDF5 files: `python -m data_prep DATA_SET --help`.

This package runs without TensorFlow and never imports `rrn`.

Modules:
  __main__: the command line
  finding: which modules are data sets; rrn finds its tasks by it, too
  input_files: finds, downloads and reads archives, folders and files
  hdf5: writes a prepared file, whole or not at all, and reads it undamaged
  layout: what the data sets' validators are made of
  check: the command that checks a prepared file
  options: what holds of the options of all commands
  progress: shows how far a long computation is
  failures: what can fail and is foreseen, in a line; main.py uses it, too
  interruption: what Ctrl-C does while a command loads
  writing: writes files and folders that appear whole or not at all

A data set is a package with a module `prepare`, which has `add_arguments(parser)` and `run(args)`
and describes the file that it writes, and a module `schema`, whose `check` validates the arrays of
that file; or one module with all three. It is called as its file's schema is. No other place lists
it; `python -m data_prep --help` finds all.
"""


class DataError(ValueError):
    """Input that cannot be prepared.

    The message names the file, what is wrong with it and what would be right.
    """
