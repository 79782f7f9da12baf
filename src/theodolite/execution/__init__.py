"""Run it: evaluate metrics on evidence, with intervals and nulls, and record what was done."""
