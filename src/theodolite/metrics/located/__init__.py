"""Metrics of location: does each concept's map mark the concept?"""
