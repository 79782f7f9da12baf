"""Read concept, mask, rating and text data sets."""
