"""Runs `rrn.data_prep`."""

import runpy

if __name__ == "__main__":
    runpy.run_module("rrn.data_prep", run_name="__main__")
