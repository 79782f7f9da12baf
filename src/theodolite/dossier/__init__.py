"""A folder that somebody signs for and a stranger checks: facts, answers, a statement of both."""
