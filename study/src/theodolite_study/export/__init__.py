"""Export a study as files with checksums, and verify exports and databases."""
