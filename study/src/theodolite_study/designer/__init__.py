"""Pages with which a researcher makes a study, as routes of the desk. English only."""
