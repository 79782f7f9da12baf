"""Metrics of existence: is the named concept in the input?"""
