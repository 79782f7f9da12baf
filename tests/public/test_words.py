"""Texts use the words of the glossary: what is left of others only shrinks."""

from support.words import USE, count_areas, count_words, read_rows


def test_words_only_shrink() -> None:
    """Use the replacement; where a format or title needs the word, say so in words_allowed.csv."""
    allowed = {
        (row["area"], row["word"]): int(row["count"]) for row in read_rows("words_allowed.csv")
    }
    wrong = [
        f"{area}: {word!r} {files.total()} times, at most {allowed.get((area, word), 0)}; "
        f"use {USE[word]!r}. Files: {dict(files.most_common(5))}"
        for (area, word), files in count_areas().items()
        if files.total() > allowed.get((area, word), 0)
    ]
    assert not wrong, "\n".join(wrong)


def test_words_detects_phrase_over_two_lines() -> None:
    text = '"is held\n    "against a null", # or is\n # held against; see [it](held-against)'
    assert count_words(text) == {"held against": 2}
