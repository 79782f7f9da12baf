"""Read the data sets that only protocols use."""
