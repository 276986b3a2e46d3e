"""`python -m rrn` is the program; see `rrn/main.py`."""

from rrn.data_prep.interruption import interruption

interruption.expect()  # before the imports that take a second
from rrn.main import start  # noqa: E402

if __name__ == "__main__":
    start()
