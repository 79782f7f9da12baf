"""Does the explanation look where the concept is?"""
