"""Verify the participants whom recruitment platforms (Prolific, Mechanical Turk) send."""
