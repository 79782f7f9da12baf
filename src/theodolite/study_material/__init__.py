"""What a study shows: the border between makers of explanations and the study server."""
