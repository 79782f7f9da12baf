"""Define the errors whose messages are shown to the person who made the request."""


class StudyError(Exception):
    """Refusal of a request, with a message for the person who made it."""

    status = 409

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotHere(StudyError):
    """Page or object that does not exist, or belongs to somebody else."""

    status = 404

    def __init__(self, message: str = "There is no such page.") -> None:
        super().__init__(message)


class WrongStage(StudyError):
    """Request that has to wait until another step is done."""


class Conflict(StudyError):
    """Answer that differs from the one that was already stored."""


class NotOpen(StudyError):
    """Request to a study that takes no answers now."""


class NothingNow(StudyError):
    """Request for an item while all remaining ones are reserved for others."""

    status = 503

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Invalid(StudyError):
    """Submitted form that is no valid answer."""

    status = 422


class Refused(StudyError):
    """Refusal with its own HTTP status."""

    def __init__(self, status: int, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after
