"""Evidence with a planted truth, one file for each kind of question."""
