"""Dictionaries of many units with sparse codes: which formula of concepts each unit detects."""
