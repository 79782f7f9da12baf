"""The one home of reading and writing: nothing that is read is ever run."""
