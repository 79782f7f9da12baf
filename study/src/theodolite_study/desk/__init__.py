"""Serve the admin console ("desk"): pages to watch, pay, export and close studies. English only."""
