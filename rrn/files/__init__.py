"""Files that are read and verified, or written: prepared data, and weights."""
