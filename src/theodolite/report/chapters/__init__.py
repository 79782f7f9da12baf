"""Chapters of the report, one file each."""
