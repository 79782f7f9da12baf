"""Serve the pages of participants: stateless requests, each with one call of the database."""
