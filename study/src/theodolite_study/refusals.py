"""What a study does not do, and what to do instead."""


class StudyError(Exception):
    """Said to the person who asked, in their words."""

    status = 409

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotHere(StudyError):
    """There is no such thing, or it is somebody else's."""

    status = 404

    def __init__(self, message: str = "There is no such page.") -> None:
        super().__init__(message)


class WrongStage(StudyError):
    """Another step comes first."""


class Conflict(StudyError):
    """An answer was given already, and it was another one."""


class NotOpen(StudyError):
    """The study takes no answers now."""


class NothingNow(StudyError):
    """Everything that is left is with somebody else; it may come back."""

    status = 503

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Invalid(StudyError):
    """What came cannot be an answer."""

    status = 422


class Refused(StudyError):
    """With a status of its own."""

    def __init__(self, status: int, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after
