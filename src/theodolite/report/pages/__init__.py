"""Pages over several runs."""
