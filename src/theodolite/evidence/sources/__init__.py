"""Read tables, data sets and loaders as evidence, a block of rows at a time."""
