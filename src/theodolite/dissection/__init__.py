"""Network dissection: find the concept formulas that the units of a layer detect."""
