"""Pages to look at in a browser, each one file that needs no network.

A page's own template is beside the module that makes the page.
"""

from rrn.pages.content import SIDE, Example, Mark, Step, Table
from rrn.pages.rendering import render

__all__ = ["SIDE", "Example", "Mark", "Step", "Table", "render"]
