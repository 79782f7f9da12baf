"""A row that a query found."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from sqlalchemy import Row

    Found: TypeAlias = Row[Any]
else:
    # SQLAlchemy's own type cannot be checked while the tests run
    Found: TypeAlias = Any
