"""A list of references that does not insist on a journal: some works are preprints or books."""

from typing import Any

from pybtex.plugin import register_plugin
from pybtex.richtext import Text
from pybtex.style.formatting.unsrt import Style as Unsorted
from pybtex.style.template import field, optional, optional_field, sentence, words
from sphinx.application import Sphinx


class Tolerant(Unsorted):
    """Authors, title, where it appeared if anywhere, year."""

    default_sorting_style = "author_year_title"

    def _entry(self, entry: Any, *where: str) -> Text:
        parts = [
            sentence[self.format_names("author", as_sentence=False)],
            self.format_title(entry, "title") if "title" in entry.fields else "",
            sentence(sep=", ")[
                [optional[words[optional_field(name)]] for name in where if name in entry.fields]
                + [field("year")]
            ],
        ]
        return words[[part for part in parts if part]]

    def get_article_template(self, entry: Any) -> Any:
        """A paper, printed or not."""
        return self._entry(entry, "journal")

    def get_inproceedings_template(self, entry: Any) -> Any:
        """A paper at a conference."""
        return self._entry(entry, "booktitle")

    def get_book_template(self, entry: Any) -> Any:
        """A book."""
        return self._entry(entry, "publisher")

    get_misc_template = get_article_template
    get_incollection_template = get_inproceedings_template


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the style under the name ``tolerant``."""
    register_plugin("pybtex.style.formatting", "tolerant", Tolerant)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
