"""Do concepts and importances add up to the output?"""
