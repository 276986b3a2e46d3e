"""The bAbI data set.

Modules:
  prepare: the command, and the description of the file
  schema: what holds of every such file
  doubts: says what speaks against files being whole and of their tasks
  splits: the stories of each split: read from an archive, supplemented, simulated or held out
  stories: what a story is, and the parser of bAbI's text files
  simulator: tells stories like the published ones
"""
