"""How a study runs: its progress, its people, and signs in how they work."""
