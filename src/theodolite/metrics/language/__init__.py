"""Metrics of concepts in texts: edits of one concept, and latents that judges describe."""
