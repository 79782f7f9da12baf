"""One file a chapter."""
