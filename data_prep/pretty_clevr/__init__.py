"""The Pretty-CLEVR data set.

Modules:
    prepare  the command, and the file's schema
    scenes   random scenes, and the walks from object to nearest object
    images   renders scenes
"""
