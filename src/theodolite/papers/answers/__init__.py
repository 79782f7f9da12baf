"""From finished runs and sweeps to answers of entries, one module for the runs of a paper."""
