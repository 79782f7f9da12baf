"""Collect all routes of the designer. Loaded by `desk.app` if it is installed."""

from theodolite_study.designer import opening_routes, share_routes, upload_routes

ROUTES = [*upload_routes.ROUTES, *opening_routes.ROUTES, *share_routes.ROUTES]
