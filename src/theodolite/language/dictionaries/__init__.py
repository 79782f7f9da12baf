"""Dictionaries of sparse features of language models: readers, one common form, and codes."""
