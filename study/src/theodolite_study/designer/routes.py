"""Collect all routes of the designer. Loaded by `desk.app` if it is installed."""

from theodolite_study.designer import (
    design_routes,
    material_routes,
    new_routes,
    opening_routes,
    settings_routes,
    share_routes,
    text_routes,
)

ROUTES = [
    *new_routes.ROUTES, *design_routes.ROUTES, *text_routes.ROUTES, *material_routes.ROUTES,
    *settings_routes.ROUTES, *opening_routes.ROUTES, *share_routes.ROUTES,
]  # fmt: skip
