"""Packed chunks of arrays by their places, ours and those of others."""
