"""Can you rely on this explanation of a neural network?"""
