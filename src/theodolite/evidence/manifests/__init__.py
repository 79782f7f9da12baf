"""Stored evidence in shards with one manifest: written by many processes, committed at once."""
