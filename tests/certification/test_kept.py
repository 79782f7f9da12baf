"""Certificates that come with the package: every score has one, and those that decide hold."""

import pytest

from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.certified import certificate_of

OWN = {name: m for name, m in catalogue().items() if m.state.__module__.startswith("theodolite.")}


@pytest.mark.parametrize("name", OWN)
def test_every_score_has_a_certificate_of_its_version(name: str) -> None:
    certificate = certificate_of(name, OWN[name].version)
    assert certificate is not None, f"theodolite certify {name} --keep …"
    if OWN[name].decides:
        assert certificate.least_samples is not None and certificate.least_samples <= 100
