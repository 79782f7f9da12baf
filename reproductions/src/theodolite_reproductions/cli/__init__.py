"""Commands that this package adds to `theodolite`."""
