"""Convert studies to Label Studio and Potato, and their annotations back to our tables."""
