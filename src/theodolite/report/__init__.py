"""Tell: from a run folder to one page that somebody can act on."""
