"""Pay: what is owed is a ledger, and a job tells the platform; no page waits for it."""
