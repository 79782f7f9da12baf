"""Monitor a running study: progress, participants, and signs of careless work."""
