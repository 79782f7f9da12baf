"""Which concept, or formula of concepts, does a unit detect?"""
