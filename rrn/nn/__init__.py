"""The networks, on graphs of any form; no file, config or device is known here.

Begin with `rrn.nn.plain`, the paper's equations word for word.
"""
