"""Does a unit detect the concept?"""
