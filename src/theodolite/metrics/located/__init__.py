"""Does the model look where the concept is?"""
