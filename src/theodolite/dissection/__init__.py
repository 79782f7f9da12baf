"""Which concept, or combination of concepts, a unit detects."""
