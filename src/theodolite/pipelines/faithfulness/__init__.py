"""Concepts found in a layer, held against the network."""
