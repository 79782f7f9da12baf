"""Where people come from: Prolific, MTurk."""
