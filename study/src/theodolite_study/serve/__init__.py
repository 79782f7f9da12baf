"""The server that people talk to: pages made from the database alone, one call a request."""
