"""`python -m rrn` is the program; see `rrn/main.py`."""

from rrn.main import start

if __name__ == "__main__":
    start()
