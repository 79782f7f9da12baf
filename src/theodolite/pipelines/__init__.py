"""Turn a model and data into evidence."""
