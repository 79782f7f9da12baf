"""Score evidence in memory, in shards or on Ray, into a run folder."""
