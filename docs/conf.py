"""The documentation site: ``sphinx-build -W --keep-going -b html docs site``.

Nothing on its pages is fetched from elsewhere: mathematics is MathML, made at build time, and there
are no web fonts. Pages of single scores, the changelog and the gallery are made into ``_made``.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import theodolite
from theodolite.report.palette import palette

project = "theodolite"
author = "The theodolite developers"
copyright = "The theodolite developers"
version = release = theodolite.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "tolerant_references",
    "metric_pages",
    "data_pages",
    "metric_links",
    "sample_sizes",
    "notebook_pages",
    "accessible_pages",
]
html_math_renderer = "mathml"
exclude_patterns = ["_ext", "gallery", "notebooks", "figures", "Thumbs.db"]
highlight_language = "text"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

bibtex_bibfiles = ["../src/theodolite/metrics/references.bib"]
bibtex_default_style = "tolerant"
bibtex_reference_style = "author_year"

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "_made/gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "nested_sections": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "min_reported_time": 3600,
    "write_computation_times": False,
    "show_signature": False,
}


def furo_colors(*, dark: bool) -> dict[str, str]:
    """The colors of reports, for the theme: there is no second palette."""
    color = palette(dark=dark)
    return {
        "color-background-primary": color["panel"],
        "color-background-secondary": color["paper"],
        "color-background-border": color["line"],
        "color-foreground-primary": color["ink"],
        "color-foreground-secondary": color["soft"],
        "color-foreground-muted": color["soft"],
        "color-brand-primary": color["score"],
        "color-brand-content": color["score"],
        "color-brand-visited": color["score"],
        **{f"color-{answer}": color[answer] for answer in ("yes", "partly", "no")},
    }


html_theme = "furo"
html_title = f"theodolite {release}"
html_logo = html_favicon = "../src/theodolite/report/templates/logo.svg"
html_baseurl = os.environ.get("THEODOLITE_SITE", "")
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": furo_colors(dark=False),
    "dark_css_variables": furo_colors(dark=True),
}
