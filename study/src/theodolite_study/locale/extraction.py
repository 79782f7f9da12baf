"""Extract our texts from code and templates into PO files for translators.

Run ``python -m theodolite_study.locale.extraction`` to write ``messages.pot`` again and update the
PO files.
"""

import re
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po

from theodolite_study.locale.messages import KEYWORDS
from theodolite_study.locale.translations import (
    LOCALE_FOLDER,
    SOURCE_LANGUAGE,
    list_languages,
    load_catalog,
)

PACKAGE = LOCALE_FOLDER.parent
METHODS = [("**.py", "python"), ("**.html.j2", "jinja2")]
CREATION_DATE = datetime(2026, 11, 18, tzinfo=timezone.utc)
"""Fixed creation date, so that the file changes only when texts do."""
WIDTH = 100
WRITERS = "The theodolite developers"
COMMENT = f"# Texts of theodolite-study. {WRITERS}, Apache-2.0."


def extract_texts(folder: Path = PACKAGE) -> Catalog:
    """Extract all marked texts."""
    catalog = Catalog(
        project="theodolite-study", version="0", header_comment=COMMENT, fuzzy=False,
        creation_date=CREATION_DATE, charset="utf-8", msgid_bugs_address="see README.md",
        last_translator=WRITERS, language_team=WRITERS,
    )  # fmt: skip
    for file, _, message, comments, context in extract_from_dir(
        folder, METHODS, {"**.html.j2": {"silent": "false"}}, KEYWORDS
    ):
        catalog.add(message, locations=[(file, 0)], auto_comments=comments, context=context)
    return catalog


def format_po(catalog: Catalog) -> bytes:
    """Format a catalog as the bytes of a PO file."""
    written = BytesIO()
    write_po(
        written, catalog, width=WIDTH, sort_by_file=True, include_lineno=False, ignore_obsolete=True
    )
    # no name of the tool, which changes with its version
    return re.sub(rb'"Generated-By: [^"]*"\n', b"", written.getvalue())


def main() -> None:
    """Write all files again."""
    template = extract_texts()
    (LOCALE_FOLDER / "messages.pot").write_bytes(format_po(template))
    for language in list_languages():
        if language != SOURCE_LANGUAGE:
            catalog = load_catalog(language)
            catalog.update(template, no_fuzzy_matching=True)
            path = LOCALE_FOLDER / language / "LC_MESSAGES" / "messages.po"
            path.write_bytes(format_po(catalog))


if __name__ == "__main__":
    main()
