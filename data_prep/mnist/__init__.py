"""The MNIST data set.

Modules:
    prepare  the command, and the file's schema
    files    reads MNIST's published files
    digits   renders digits in fonts
"""
