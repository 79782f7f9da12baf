"""One file a kind of evidence."""
