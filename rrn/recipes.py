"""What the files of configs/ are made with: variants by name, and recipes of seconds."""

from collections.abc import Callable, Mapping

from rrn.config import Experiment, replace

Recipe = Callable[[], Experiment]


def look_up(recipes: Mapping[str, Recipe]) -> Callable[[str], Experiment]:
    """Makes the `get_config` of a config file, a function of a variant, "" if it is not given.

    It raises ValueError, which names the variants, for one that is not among them.

    Args:
      recipes: variant -> recipe; the variant "" is the file without a variant.
    """

    def get_config(variant: str = "") -> Experiment:
        if variant not in recipes:
            variants = ", ".join(name for name in recipes if name) or "none"
            raise ValueError(f"variants are {variants}, got {variant!r}")
        return recipes[variant]()

    return get_config


def shorten(config: Experiment, examples: int = 0) -> Experiment:
    """Shortens a recipe to seconds of training and evaluation.

    So many examples of each split are evaluated, all if it is 0.
    """
    return replace(
        config,
        train={
            "batch_size": 16,
            "num_updates": 20,
            "log_every_updates": 5,
            "evaluate_every_updates": 20,
            "checkpoint_every_updates": 10,
            "validation_examples": examples,
        },
        evaluate={"examples": examples},
    )
