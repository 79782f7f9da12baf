"""Exports: tables for a paper, and a model card."""
