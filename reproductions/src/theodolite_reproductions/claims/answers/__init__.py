"""Read answers to claims from runs."""
