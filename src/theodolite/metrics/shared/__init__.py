"""Share rankings, locations and null baselines among metrics of several questions."""
