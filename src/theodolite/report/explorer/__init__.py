"""Everything one by one: concepts, units, classes, samples."""
