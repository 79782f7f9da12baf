"""To and from other libraries: each bridge is one file."""
