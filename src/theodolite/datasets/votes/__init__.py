"""Read votes of people on explanations."""
