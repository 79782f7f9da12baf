"""Download the files of a card, derive what the loader reads, and check what is there."""

from collections.abc import Iterator
from pathlib import Path

from theodolite._storage.downloads import download, download_tree, has_content, read_tree
from theodolite._storage.paths import confined
from theodolite.datasets.card import DataCard
from theodolite.datasets.monumai_copy import ANNOTATIONS, derive_monumai
from theodolite.errors import VerificationError
from theodolite.evidence.pipeline_output import Progress, silent


def get_files(card: DataCard, folder: Path, progress: Progress = silent) -> Iterator[str]:
    """Download what is missing below a folder, and yield a line for each file or tree."""
    if _is_derived(card, folder):
        yield f"{folder / ANNOTATIONS} is there: nothing to do"
        return
    for file in card.files:
        target = confined(folder, file.path)
        if not file.listing:
            is_new = download(file.url, target, file.bytes, file.digest)
            yield f"{file.path}: {file.bytes:,} bytes, {'checked' if is_new else 'was there'}"
            continue
        files = read_tree(file.listing, file.digest)
        chosen = {path: entry for path, entry in files.items() if path not in file.leave_out}
        yield f"{file.path}: {len(chosen):,} files, {file.bytes / 1e6:,.0f} MB"
        count = download_tree(file.url, target, chosen, file.bytes, progress)
        yield f"{file.path}: {count:,} files downloaded, {len(chosen) - count:,} were there"
    if card.derive:
        derive_monumai(confined(folder, card.files[0].path), folder)
        yield f"derived {folder / ANNOTATIONS} and images; {card.files[0].path}/ can be removed"


def check_files(card: DataCard, folder: Path) -> list[str]:
    """Return a line on the digests of a data set; raise if a file has another content."""
    files = [file for file in card.files if not file.listing]
    for file in files:
        path = confined(folder, file.path)
        if path.is_file() and not has_content(path, file.bytes, file.digest):
            hint = f"Remove it and run 'theodolite data get {card.name}'."
            raise VerificationError(f"file {file.path!r}", "another content", file.digest, hint)
    there = sum(confined(folder, file.path).is_file() for file in files)
    return [f"{there} of {len(files)} have their published digests"] if files else []


def _is_derived(card: DataCard, folder: Path) -> bool:
    return bool(card.derive) and (folder / ANNOTATIONS).is_file()
