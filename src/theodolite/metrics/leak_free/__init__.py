"""Are the concepts free of what they should not carry?"""
