"""Estimators, kernels, resampling."""
