"""The Pretty-CLEVR data set."""
