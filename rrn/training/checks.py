"""Numbers that a config cannot have."""

LEAST = {
    "train": {
        "batch_size": 1,
        "log_every_updates": 1,
        "evaluate_every_updates": 1,
        "checkpoint_every_updates": 1,
        "checkpoint_every_seconds": 0,
        "validation_examples": 0,
        "warmup_updates": 0,
        "learning_rate": 0.0,
        "l2": 0.0,
        "clip_norm": 0.0,
        "average_decay": 0.0,
    },
    "evaluate": {"batch_size": 1, "examples": 0, "passes": 1},
}


def check_numbers(config):
    """Raises ValueError for a number of the config that is too small, or no weight of averages."""
    for part, fields in LEAST.items():
        for field, least in fields.items():
            if config[part][field] < least:
                raise ValueError(
                    f"{part}.{field} must be at least {least}, got {config[part][field]}"
                )
    if config.train.average_decay >= 1.0:
        raise ValueError(f"train.average_decay must be below 1, got {config.train.average_decay}")
