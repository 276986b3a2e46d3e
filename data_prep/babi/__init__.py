"""The bAbI data set.

Modules:
    prepare    the command, and the file's schema
    splits     the stories of each split: read from an archive, supplemented, simulated or held out
    stories    what a story is, and the parser of bAbI's text files
    simulator  tells stories like the published ones
"""
