"""Carry out a spec, compute it again."""
