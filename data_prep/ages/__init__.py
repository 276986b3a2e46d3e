"""The age arithmetic data set.

Modules:
    prepare  the command, and the file's schema
    trees    all labelled trees on eight people
"""
