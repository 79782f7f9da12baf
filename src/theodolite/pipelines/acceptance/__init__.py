"""Votes, a score learnt from them, and how well it predicts others."""
