"""Let scripted people take part in a study that is served, and print its result."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import typer

from theodolite.errors import VerificationError
from theodolite_study.demo.people import Crowd
from theodolite_study.protocol import read_protocol
from theodolite_study.results import load_results

EFFECTS = {"on the object": 1.0, "concepts": 0.5, "beside the object": -0.5, "all over": -1.0}
"""By how many points scripted people like each kind of explanation better than the middle."""


@dataclass
class DemoPeople:
    """Scripted people of `study demo --people`."""

    folder: Path
    origin: str
    people: int
    stop: bool = False
    """Whether the study is stopped after its result."""
    _lines: list[str] = field(default_factory=list)

    def take_part(self, url: str) -> None:
        """Take part, and print the result that the study was planned for."""
        try:
            slug = read_protocol(self.folder).slug
            typer.echo(f"people: {self.people} scripted ones take part")
            crowd = Crowd(self.origin, slug, self.folder, EFFECTS)
            crowd.send(["finish"] * self.people, together=3)
            with psycopg.connect(url, autocommit=True) as connection:
                row = connection.execute("select id from study where slug = %s", (slug,)).fetchone()
                assert row is not None  # noqa: S101
                result = load_results(connection, row[0])
                for number in range(self.people, 2 * self.people):
                    if result.comparison is not None:
                        break
                    crowd.send(["finish"], first=number)  # the last votes need new people
                    result = load_results(connection, row[0])
                self._lines = result.to_lines()
            typer.echo("\n" + "\n".join(self._lines))
        finally:
            if self.stop:
                os.kill(os.getpid(), signal.SIGINT)

    def require_result(self) -> None:
        """Fail if the people did not come to a result, where that was asked for."""
        if self.stop and not any(" higher" in line for line in self._lines):
            raise VerificationError("study demo --people", "no result", "a comparison of methods")
