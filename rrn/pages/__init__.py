"""Pages to look at in a browser, each one file that needs no network.

Modules:
  content: what is put on a page: tables, charts, and examples with what happens at every step
  rendering: from a template and values to a page
  base.html: the template of all pages: their style, and what they may load (nothing)
  player.html: the part that shows an example step by step
  charts.html: the part that draws charts
  tables.html: the part that is a table

A page's own template is beside the module that makes the page.
"""

from rrn.pages.content import SIDE, Chart, Curve, Example, Mark, Step, Table
from rrn.pages.rendering import as_json, render

__all__ = ["SIDE", "Chart", "Curve", "Example", "Mark", "Step", "Table", "as_json", "render"]
