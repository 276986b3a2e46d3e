"""Prepares public data sets as HDF5 files: `python -m data_prep DATA_SET --help`.

This package runs without TensorFlow and never imports `rrn`.

Packages:
    ages          age arithmetic: all trees on eight people
    babi          bAbI: its published stories, and a simulator of such stories
    mnist         MNIST: its published digits, or digits rendered in fonts
    pretty_clevr  Pretty-CLEVR: random scenes, and images of them
    sudoku        Sudoku: lists of puzzles, a solver and a generator

Modules:
    __main__      the command line
    input_files   finds, downloads and reads archives, folders and files
    hdf5          writes a prepared file, whole or not at all, and reads it undamaged
    layout        what the data sets' validators are made of
    check         the command that checks a prepared file
    options       options that several data sets' commands have
    progress      shows how far a long computation is
    failures      what can fail and is foreseen, in a line; main.py uses it, too

A data set is a package with a module `schema`, whose `check` validates the arrays of its file, and
a module `prepare`, which has `add_arguments(parser)` and `run(args)`
and describes the file that it writes. `data_prep/__main__.py` lists the data sets.
"""


class DataError(ValueError):
    """Input that cannot be prepared.

    The message names the file, what is wrong with it and what would be right.
    """
