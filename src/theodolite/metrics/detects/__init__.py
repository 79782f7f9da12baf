"""Metrics of detection: does a unit detect the concept that it is labeled as?"""
