"""Readers of concept, mask, rating and text data sets."""
