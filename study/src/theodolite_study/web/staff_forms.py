"""Forms of the staff pages."""

from typing import Annotated

from pydantic import Field, StringConstraints

from theodolite_study.web.forms import Form, Word

Secret = Annotated[str, StringConstraints(max_length=200)]


class LogInForm(Form):
    """Name, passphrase, code of the phone."""

    name: Word = ""
    passphrase: Secret = ""
    code: Word = ""


class EnrolForm(Form):
    """The link's token, and what the account is to be opened with."""

    token: Word = ""
    username: Word = ""
    """For password keepers; not read."""
    passphrase: Secret = ""
    code: Word = ""


class StateForm(Form):
    """Open, pause, close."""

    state: Word = ""


class QuotaForm(Form):
    """Explanations for each person."""

    quota: Annotated[int, Field(ge=0, le=100_000)]


class LiftForm(Form):
    """Somebody of the panel."""

    row: Annotated[int, Field(ge=1, le=10_000)]


class InvalidateForm(Form):
    """Whose votes, and why."""

    pseudonym: Word = ""
    reason: Annotated[str, StringConstraints(min_length=5, max_length=200)]
