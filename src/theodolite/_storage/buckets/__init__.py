"""Objects in buckets: the client, its keys, and many ranges at once."""
