"""Serve the pages that design a study, as routes of the admin console. English only."""
