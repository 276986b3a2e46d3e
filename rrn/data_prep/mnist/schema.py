"""What holds of every prepared file of digits; `data_prep.mnist.prepare` describes it."""

from collections.abc import Mapping

import numpy as np

from rrn.data_prep.layout import SPLITS, check_all, check_layout, check_range

LAYOUT = {"{split}/image": ("uint8", ("N", 28, 28)), "{split}/label": ("uint8", ("N",))}


def check(datasets: Mapping[str, np.ndarray]) -> None:
    """Refuses wrong arrays with a `DataError`."""
    check_layout(datasets, LAYOUT)
    for split in SPLITS:
        image, label = datasets[f"{split}/image"], datasets[f"{split}/label"]
        check_range(f"{split}/label", label, 0, 10)
        check_all(f"{split}/image", image.any(axis=(1, 2)), image, "an image with ink")
