"""Translate our own pages, and provide default texts of studies."""
