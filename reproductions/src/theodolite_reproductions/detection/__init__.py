"""Dissect a layer under the choices that the detection paper compares."""
