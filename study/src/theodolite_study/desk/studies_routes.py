"""One's own studies, and what waits in each."""

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest, page

STUDIES = """
    select s.slug, s.title, s.state, m.role from study s join member m on m.study_id = s.id
    where m.staff_id = %s order by s.created_at desc, s.slug"""


@needs("account")
def studies(desk: DeskRequest) -> Response:
    """One's own studies."""
    return page(desk, "studies", {"studies": desk.rows(STUDIES, desk.staff.id)})


ROUTES = [Route("/", studies)]
