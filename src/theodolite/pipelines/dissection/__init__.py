"""Network dissection pipelines: which concepts the units of a layer detect."""
