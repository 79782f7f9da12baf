"""Languages: what our own pages say, and texts that studies may begin with."""
