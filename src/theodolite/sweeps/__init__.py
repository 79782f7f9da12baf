"""Choices that a protocol leaves open: which of them moves what is found, and how surely."""
