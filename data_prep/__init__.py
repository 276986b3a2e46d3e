"""`rrn.data_prep` by its short name, in a checkout: `python -m data_prep`."""

from rrn.data_prep import __path__ as __path__
