"""The age arithmetic data set."""
