"""Variables that are read once in an update, whole or in shards; random numbers by seed."""
