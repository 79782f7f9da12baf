"""Pieces of work here, in processes, on Ray; the ledger."""
