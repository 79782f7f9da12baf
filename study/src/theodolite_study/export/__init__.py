"""A study as files, and whether it is in order: in the database, and in what was exported."""
