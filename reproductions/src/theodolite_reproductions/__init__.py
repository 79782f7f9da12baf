"""Reproduce five papers: their claims, protocols, models and kept results."""
