"""One file for each experiment; `rrn/config.py` declares the settings that all have in common.

A file's first recipe has the settings of the publication, as far as they are not the defaults.
Every other recipe is a function that starts from a named one and replaces fields of it. `RECIPES`
maps the variants that `--config FILE:VARIANT` takes to their recipes. A file imports nothing but
`rrn`, so that it can lie anywhere.
"""
