"""Other people's data as evidence, a block of rows at a time."""
