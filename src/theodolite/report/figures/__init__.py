"""Figures: one set of scales and marks, written as SVG, Vega-Lite or with matplotlib."""
