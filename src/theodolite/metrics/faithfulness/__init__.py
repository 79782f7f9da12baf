"""Do concepts and importances add up to what the network puts out?"""
