"""From a data set and a model to evidence: the experiments that run specs name."""
