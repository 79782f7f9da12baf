"""Metrics of acceptance: do people agree with explanations?"""
