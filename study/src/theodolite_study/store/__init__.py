"""The database: its tables, the steps that people take as functions in it, and connections."""
