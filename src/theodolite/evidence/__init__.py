"""Kinds of evidence, their named axes and checks."""
