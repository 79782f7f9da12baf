"""Operate a server: metrics, logs, background jobs, backups and upgrades."""
