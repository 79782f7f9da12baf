"""The researchers' desk: pages to set up, watch, pay, export, close. English only."""
