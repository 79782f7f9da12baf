"""Define the instrument of a study as data: blocks of questions, their order and conditions."""
