"""Scores of concepts in texts: edits of one concept, and features that judges describe."""
