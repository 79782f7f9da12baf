"""Is the named concept in the input?"""
