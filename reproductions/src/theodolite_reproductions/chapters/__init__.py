"""Sections that protocols add to a report."""
