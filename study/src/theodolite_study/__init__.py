"""Ask people: a server for studies in which explanations are rated."""
