"""Read ratings of explanations by people."""
