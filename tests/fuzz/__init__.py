"""Tries damaged and wrong inputs: `python -m tests.fuzz --minutes 5 --seed 1`.

An input is written, made wrong, and read by the program. It must end in one error line that names
what is wrong, or in the result of the undamaged input. Nothing but the output may change.

attempts.py        an input, what may be wrong with it, and how an attempt at it ends
campaign.py        the kinds of inputs, and how many attempts at them end how
damage.py          random damage of files: archives, texts, prepared files, weights, checkpoints
sources.py         sources that are whole, and whose contents are wrong: archives, texts, arrays
contents.py        files that are whole, and whose contents are wrong: prepared files and weights
command_lines.py   fields of configs, flags of main.py, options of data_prep
config_files.py    config files, their lines and values
texts.py           TF_CONFIG, and puzzles
clients.py         clients of Sudoku's page
trainings.py       whole trainings with values at the limits of their fields
commands.py        runs a command in a fork of this process
"""
