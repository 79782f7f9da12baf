"""Metrics of location: does the explanation look where the concept is?"""
