"""Vary the choices that a protocol leaves open."""
