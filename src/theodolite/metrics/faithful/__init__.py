"""Metrics of faithfulness: do concepts and importances add up to the model's output?"""
