"""Can a map of relevance be relied upon?"""
