"""Serve the page with the comparison of methods."""

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, render_page
from theodolite_study.results import load_results


@require_right("aggregates")
def results(desk: DeskRequest) -> Response:
    """Show the planned comparisons when all votes are there."""
    if desk.version is None or desk.version["opened_at"] is None:
        return render_page(desk, "live_empty")
    return _page(desk, interim=False)


@require_right("export")
def interim_results(desk: DeskRequest) -> Response:
    """Show comparisons before all votes are there, and record that somebody looked."""
    return _page(desk, interim=True)


def _page(desk: DeskRequest, *, interim: bool) -> Response:
    comparison = load_results(desk.connection, desk.study_id, interim=interim, staff=desk.staff.id)
    context = {"found": comparison, "may_look": desk.may("export")}
    return render_page(desk, "results", context)


ROUTES = [
    Route("/studies/{slug}/results", results),
    Route("/studies/{slug}/results", interim_results, methods=["POST"]),
]
