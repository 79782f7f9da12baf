"""Pages of the features of a language model: a dictionary, and each of its features."""
