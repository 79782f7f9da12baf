"""Does a concept carry more than it says?"""
