"""Read tables, data sets and loaders as evidence, one block of rows at a time."""
