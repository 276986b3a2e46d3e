"""The MNIST data set."""
