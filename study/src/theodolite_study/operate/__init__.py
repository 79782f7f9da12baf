"""Running a server: figures, logs, the process of jobs, backups and upgrades."""
