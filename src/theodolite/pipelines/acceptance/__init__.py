"""Votes, a score learnt from them, and how well it foretells others."""
