"""Evidence in pieces with one manifest: what is where, written by many, committed at once."""
