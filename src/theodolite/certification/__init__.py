"""Whether a score may decide: planted truths, data conditions, operating characteristics."""
