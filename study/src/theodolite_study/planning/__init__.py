"""Plan a study: its sample size, and which participant rates which explanation in which order."""
