"""Put a site that was made beside those of other versions.

    python site_versions.py SITE TREE NAME

NAME is a tag (v0.2.0) or a branch. A tag goes to TREE/0.2 and, if no newer one is there, to
TREE/stable; a branch to TREE/dev. ``versions.json`` lists all, newest first; every page but those
of the newest release says so at its top, and the root leads to stable.
"""

import json
import re
import shutil
import sys
from pathlib import Path

TAG = re.compile(r"v(\d+)\.(\d+)\.\d+")
BANNER = re.compile(r'<p class="announcement-old">.*?</p>\n?', re.DOTALL)
BODY = re.compile(r"<body[^>]*>\n?")
ROOT_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>theodolite</title>
<meta http-equiv="refresh" content="0; url={target}/">
<a href="{target}/">theodolite</a></html>
"""


def folder_of(name: str) -> str:
    """Where a tag or a branch goes.

    >>> folder_of("v0.2.0"), folder_of("main")
    ('0.2', 'dev')
    """
    tag = TAG.fullmatch(name)
    return f"{tag[1]}.{tag[2]}" if tag else "dev"


def releases(tree: Path) -> list[str]:
    """Versions in the tree, newest first."""
    names = [path.name for path in tree.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    return sorted(names, key=lambda name: tuple(map(int, name.split("."))), reverse=True)


def put(site: Path, target: Path) -> None:
    """In place of what was there."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)


def mark(folder: Path, sentence: str) -> None:
    """One banner on every page of a version, or none."""
    for page in folder.rglob("*.html"):
        up = "../" * len(page.relative_to(folder).parts)
        text = BANNER.sub("", page.read_text("utf-8"))
        if sentence:
            link = f'<a href="{up}stable/">stable</a>'
            banner = f'<p class="announcement-old">{sentence} The current one is {link}.</p>\n'
            text = BODY.sub(lambda match: match[0] + banner, text, count=1)  # noqa: B023
        page.write_text(text, "utf-8")


def publish(site: Path, tree: Path, name: str) -> None:
    """All of it."""
    folder = folder_of(name)
    put(site, tree / folder)
    newest = releases(tree)[:1]
    if [folder] == newest:
        put(site, tree / "stable")
    for version in releases(tree):
        mark(tree / version, "" if [version] == newest else f"This is of version {version}.")
    if (tree / "dev").is_dir():
        mark(tree / "dev", "This is of what is not released yet." if newest else "")
    listed = [{"name": version, "path": f"{version}/"} for version in releases(tree)]
    listed += [{"name": "dev", "path": "dev/"}] if (tree / "dev").is_dir() else []
    content = {"stable": "".join(newest) or None, "versions": listed}
    (tree / "versions.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    (tree / ".nojekyll").touch()
    root = ROOT_PAGE.format(target="stable" if newest else "dev")
    (tree / "index.html").write_text(root, "utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
