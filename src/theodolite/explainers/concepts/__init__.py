"""Which concepts made a concept bottleneck choose a class?"""
