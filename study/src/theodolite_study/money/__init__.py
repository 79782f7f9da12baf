"""Pay participants: a ledger of what is owed, and a background job that pays through the
platform."""
