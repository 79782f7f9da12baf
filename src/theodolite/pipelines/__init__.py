"""Pipelines that turn a model and a data set into evidence."""
