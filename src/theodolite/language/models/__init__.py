"""Language models: what they compute at every token, and dictionaries of it."""
