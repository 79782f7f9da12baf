"""Pages of a study, for those who take part and those who run it."""
