"""What nulls are called before readers. Files keep the names of 0.1.0; pages, tables and sentences
use these words, and what is not listed goes by its name."""

READER_WORDS = {
    "nothing but the concept": "no leakage",
    "the most common concepts": "always the commonest",
    "image centre": "always the middle",
}
"""By the name in files."""
AFTER_THAN = {"no leakage": "without leakage"}
"""Words that read otherwise after "than" and "as much as"."""


def reader_words(name: str) -> str:
    """A null's name as readers see it.

    >>> reader_words("image centre"), reader_words("shuffled concepts")
    ('always the middle', 'shuffled concepts')
    """
    return READER_WORDS.get(name, name)


def after_than(words: str) -> str:
    """The same in a comparison: more than …

    >>> after_than("no leakage"), after_than("always the middle")
    ('without leakage', 'always the middle')
    """
    return AFTER_THAN.get(words, words)
