"""Turn scores into answers."""
