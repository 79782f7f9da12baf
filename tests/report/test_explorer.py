"""Rows of a report: packed without loss beyond the digits it names, worst first, images once."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from markupsafe import Markup
from numpy.testing import assert_allclose, assert_array_equal
from report_size import drawn_values

from support.evidence.many_rows import write_many
from theodolite._runs.folder_reader import RunFolder
from theodolite._storage.tables import Words, read_coded, read_parquet, write_parquet
from theodolite._verdicts.scores_file import read_scores
from theodolite.report.explorer.images import key
from theodolite.report.explorer.packed_table import PackedTable, ScoreColumn, pack_table
from theodolite.report.explorer.tables import item_tables
from theodolite.report.html import write_report
from theodolite.report.page import write_page

SHARE, ANY = (0.0, 1.0), (-np.inf, np.inf)


def column(
    values: np.ndarray, bounds: tuple[float, float] = SHARE, better: str = "higher"
) -> ScoreColumn:
    return ScoreColumn("a score", "", values, values - 0.1, values + 0.1, bounds, better)  # type: ignore[arg-type]


def naive_unpacked(text: str) -> tuple[dict, list[int] | None, list[np.ndarray]]:
    """The same bytes read number by number."""
    content = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(content[:4], "little")
    header, at = json.loads(content[4 : 4 + length]), 4 + length
    rows = len(header["names"])

    def numbers(size: int) -> list[bytes]:
        nonlocal at
        planes = [content[at + k * rows : at + (k + 1) * rows] for k in range(size)]
        at += size * rows
        return [bytes(plane[i] for plane in planes) for i in range(rows)]

    ranks = [int.from_bytes(b, "little") for b in numbers(4)] if header["ranked"] else None
    result = []
    for about in header["columns"]:
        for _ in range(3 if about["interval"] else 1):
            if about["fixed"]:
                codes = [int.from_bytes(b, "little") for b in numbers(2)]
                result.append(
                    np.array([np.nan if c == 65535 else (c - 30000) / 1e4 for c in codes])
                )
            else:
                result.append(np.array([np.frombuffer(b, "<f4")[0] for b in numbers(4)], float))
    assert at == len(content)
    return header, ranks, result


@given(arrays(float, st.integers(1, 20), elements=st.floats(0, 1) | st.just(np.nan)))
def test_shares_come_back_to_four_decimals(values: np.ndarray) -> None:
    before = values.copy()
    _, _, result = naive_unpacked(
        pack_table(PackedTable("units", ["u"] * len(values), [column(values)]))
    )
    for given_, got in zip((values, values - 0.1, values + 0.1), result, strict=True):
        assert_allclose(got, given_, atol=0.50001e-4)
        assert_array_equal(np.isnan(got), np.isnan(given_))
    assert_array_equal(values, before)


@given(arrays(float, 7, elements=st.floats(-1e30, 1e30) | st.just(np.nan)))
def test_other_numbers_come_back_to_seven_digits(values: np.ndarray) -> None:
    table = PackedTable(
        "units", list("abcdefg"), [ScoreColumn("x", "", values, None, None, ANY, "higher")]
    )
    _, _, (got,) = naive_unpacked(pack_table(table))
    assert_allclose(got, values, rtol=1e-7, atol=1e-37)


def test_numbers_are_said_as_they_are_kept() -> None:
    share, cosine, other = (
        ScoreColumn("x", "", np.array([0.5]), None, None, bounds, "higher")
        for bounds in (SHARE, (-1.0, 1.0), ANY)
    )
    assert share.text(0.123449) == "12.34 %" and share.text(np.nan) == "undefined"
    assert cosine.text(-0.25) == "−0.2500" and cosine.text(-0.00001) == "0.0000"
    assert other.text(123456.0) == "123500" and other.text(np.inf) == "∞"
    assert not column(np.array([5.0])).is_fixed, "beyond what two bytes hold"


def test_names_are_in_natural_order_and_long_ones_are_cut() -> None:
    names = ["b", "unit 10", "unit 9", "a" * 9000, "\ud800"]
    header, ranks, _ = naive_unpacked(
        pack_table(PackedTable("units", names, [column(np.zeros(5))]))
    )
    assert ranks == [1, 3, 2, 0, 4]
    assert header["names"][3] == "a" * 300 and header["cut"] == 1
    assert header["names"][4] == "\ud800"
    assert (
        naive_unpacked(pack_table(PackedTable("units", ["u2", "u10"], [column(np.zeros(2))])))[1]
        is None
    )


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_worst_rows_come_first_and_undefined_ones_last(better: str) -> None:
    values = np.array([0.5, np.nan, 0.1, 0.9, 0.1])
    worst = PackedTable("units", list("abcde"), [column(values, better=better)]).worst(9)
    assert worst == ([2, 4, 0, 3, 1] if better == "higher" else [3, 0, 2, 4, 1])


def test_a_coded_table_says_what_the_plain_one_says(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_parquet(
        path, {"word": ["b", "a", None, "b"], "value": [1.0, None, 2.5, -1.0], "n": [1, 2, 3, 4]}
    )
    plain, coded = read_parquet(path), read_coded(path)
    words = coded["word"]
    assert isinstance(words, Words)
    assert [None if c < 0 else words.categories[c] for c in words.codes] == plain["word"]
    assert_array_equal(coded["value"], [1.0, np.nan, 2.5, -1.0])
    assert_array_equal(coded["n"], plain["n"])


def test_tables_have_every_item_of_the_scores_and_of_the_samples(tmp_path: Path) -> None:
    folder = write_many(tmp_path / "run", tuple(f"u{i}" for i in range(40)))
    scores, _ = read_scores(folder / "scores.json")
    units, samples = item_tables(RunFolder(folder).per_sample(), scores)
    assert (units.over, len(units.names), len(units.columns)) == ("units", 40, 2)
    assert units.columns[0].null == ("shuffled", 0.02) and "[" in units.columns[0].whole
    for one, score in zip(units.columns, scores, strict=True):
        assert score.detail is not None
        assert_array_equal(one.values, score.detail.values)
    long = read_parquet(folder / "per_sample.parquet")
    naive = dict(zip(long["sample"], long["value"], strict=True))
    said = [None if np.isnan(v) else v for v in samples.columns[0].values]
    assert dict(zip(samples.names, said, strict=True)) == naive


def test_scores_of_different_items_meet_by_name(tmp_path: Path) -> None:
    folder = write_many(tmp_path / "run", tuple("abc"))
    scores, _ = read_scores(folder / "scores.json")
    first, second = scores
    assert second.detail is not None
    object.__setattr__(second.detail, "names", ("c", "x", "x"))
    (units, *_) = item_tables(RunFolder(folder).per_sample(), [first, second])
    assert list(units.names) == ["a", "b", "c", "x", "x (2)"], "a second x does not hide the first"
    values = second.detail.values
    assert_array_equal(units.columns[1].values, [np.nan, np.nan, *values])


def test_the_page_has_the_worst_rows_and_each_image_once(tmp_path: Path) -> None:
    folder = write_many(tmp_path / "run", tuple(f"u{i}" for i in range(60)), cards=2)
    report = write_report(folder)
    page = report.read_text()
    part = page[page.index('<section id="explorer">') :]
    values = drawn_values(60, 1)
    order = sorted(range(60), key=lambda i: (np.isnan(values[i]), round(values[i] * 1e4) if values[i] == values[i] else 0, i))  # fmt: skip
    assert re.findall(r"<bdi>(u\d+)</bdi>", part)[:25] == [f"u{i}" for i in order[:25]]
    assert "per_sample.parquet" in part and "need scripts" in part
    addresses = re.findall(r'"(data:image/jpeg[^"]*)"', page)
    assert len(addresses) == len(set(addresses)) == 2
    header, _, _ = naive_unpacked(re.findall(r"base64\">([^<]+)</script>", part)[0])
    shown = [result[0] for result in header["about"]["0"]["images"]]
    assert shown == [key(address) for address in addresses]
    assert write_report(folder).read_text() == page, "equal folders give equal pages"


def test_scripts_are_named_by_digest_and_compile_nothing(tmp_path: Path) -> None:
    page = write_report(write_many(tmp_path / "run", tuple("abc"))).read_text()
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)[0]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert len(scripts) == 1 and "unsafe-eval" not in policy


def test_figures_are_there_without_scripts(tmp_path: Path) -> None:
    folder = write_many(tmp_path / "run", tuple(f"u{i}" for i in range(300)))
    part = write_report(folder).read_text()
    part = part[part.index('<section id="explorer">') :]
    assert part.count('class="histogram"') == 3
    undefined = int(np.isnan(drawn_values(300, 1)).sum())
    assert f"of {300 - undefined} units; {undefined} undefined" in part


def test_images_that_a_page_shows_are_not_added(tmp_path: Path) -> None:
    addresses = ["data:image/jpeg;base64,AAAA", "data:image/jpeg;base64,BBBB"]
    content = {"title": "t", "subtitle": Markup(f'<img src="{addresses[0]}">')}  # noqa: S704
    path = write_page(tmp_path / "p.html", "page.html.j2", content, images=addresses)
    page = path.read_text()
    assert page.count(addresses[1]) == 1 and page.count(f'src="{addresses[0]}"') == 1


def test_a_run_without_items_has_no_such_chapter(tmp_path: Path) -> None:
    folder = write_many(tmp_path / "run", ("only",))
    page = write_report(folder).read_text()
    assert 'id="explorer"' not in page and "<script" not in page
