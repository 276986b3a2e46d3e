"""What holds of every prepared Pretty-CLEVR file; `data_prep.pretty_clevr.prepare` describes it."""

from collections.abc import Mapping

import numpy as np

from rrn.data_prep.layout import SPLITS, check_all, check_layout, is_permutation
from rrn.data_prep.pretty_clevr.scenes import LEAST_DISTANCE, OBJECTS, distances, walks

LAYOUT = {
    "colour_names": ("object", (OBJECTS,)),
    "marker_names": ("object", (OBJECTS,)),
    "{split}/positions": ("float32", ("S", OBJECTS, 2)),
    "{split}/colours": ("uint8", ("S", OBJECTS)),
    "{split}/markers": ("uint8", ("S", OBJECTS)),
    "{split}/order": ("uint8", ("S", OBJECTS, OBJECTS)),
}
IMAGES = {"{split}/images": ("uint8", ("S", "size", "size", 3))}


def check(datasets: Mapping[str, np.ndarray]) -> None:
    """Refuses wrong arrays with a `DataError`."""
    with_images = any(name.endswith("/images") for name in datasets)
    check_layout(datasets, {**LAYOUT, **(IMAGES if with_images else {})})
    for split in SPLITS:
        for name in ("colours", "markers"):
            array = datasets[f"{split}/{name}"]
            check_all(f"{split}/{name}", is_permutation(array), array, "each of 0 to 7 once")
        positions, order = datasets[f"{split}/positions"], datasets[f"{split}/order"]
        inside = (positions >= 0) & (positions < 1)  # false of NaN
        check_all(f"{split}/positions", inside, positions, "a number in [0, 1)")
        away = distances(positions)
        apart = (away >= LEAST_DISTANCE).all(axis=(1, 2))
        check_all(f"{split}/positions", apart, positions, f"objects {LEAST_DISTANCE} apart")
        check_all(f"{split}/order", order == walks(away), order, "the next nearest object")
