"""Does a unit detect what it is said to detect?"""
