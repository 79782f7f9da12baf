"""Is the named concept there (exists), and does the model look at it (located)?"""
