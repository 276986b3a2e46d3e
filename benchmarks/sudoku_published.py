"""Multiply-adds a puzzle and parameters of published networks, from the sizes in their code.

    python -m benchmarks.sudoku_published

HRM (sapientinc/HRM), TRM with an MLP over cells (SamsungSAILMontreal/TinyRecursiveModels) and
SE-RRM (ml-jku/SE-RRM): matrix products alone, for 16 passes of each; embeddings are left out.
"""

import argparse

from benchmarks import harness

PASSES = 16


def swiglu(size):
    """The weights of a SwiGLU layer of expansion 4; its inner size is a multiple of 256."""
    return 3 * size * (-(-round(8 * size / 3) // 256) * 256)


def attention(size, width):
    """The weights of an attention layer whose heads together have `width` units."""
    return 4 * size * width


def networks():
    """(name, parameters, multiply-adds of a pass) of each network."""
    # Each token's products with the weights, and with the other tokens' keys and values.
    layer = attention(512, 512) + swiglu(512)
    hrm = 4 * 82 * (layer + 2 * 82 * 512)  # a level: four layers on 82 tokens
    yield "HRM", 8 * layer, (2 * 2 + 2) * hrm
    cells, token = swiglu(97), swiglu(512)  # 81 cells and 16 tokens of the puzzle
    yield "TRM", 2 * (cells + token), 3 * (6 + 1) * 2 * (512 * cells + 97 * token)
    layer = attention(256, 256) + attention(256, 128) + swiglu(256)
    among = 2 * 85 * 256 + 2 * 11 * 128  # 85 cells and tokens; 11 symbols
    yield "SE-RRM", 2 * layer, 3 * 6 * 2 * 11 * 85 * (layer + among)


def main():
    argparse.ArgumentParser(description=__doc__.split("\n\n")[0]).parse_args()
    rows = [[n, f"{p / 1e6:.2f}", f"{PASSES * m / 1e9:.0f}"] for n, p, m in networks()]
    harness.print_table(["network", "parameters, M", f"multiply-adds, {PASSES} passes, G"], rows)


if __name__ == "__main__":
    harness.start(main)
