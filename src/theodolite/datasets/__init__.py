"""Samples with concepts: readers of data sets, and data whose truth is known."""
