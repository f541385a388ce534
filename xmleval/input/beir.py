"""Folders of BEIR: a corpus, queries, and judgements in ``qrels``, a file for each split.

Each file may be compressed, and then ends in ``.gz``.
"""

from __future__ import annotations

from pathlib import Path

from xmleval.base.errors import shown_names

FOLDER = "qrels"
TEXTS = {"corpus.jsonl", "queries.jsonl"}  # one of them at least is in such a folder
TEST = "test"
ENDING = ".tsv"


def find_judgements(folder: Path) -> tuple[Path, list[str]] | None:
    """Return the file of judgements of a folder, and a remark on its split; None if it is no such.

    The split is ``test``, or the only one; a remark says which one unless it is ``test`` alone.
    """
    if not folder.is_dir():
        return None
    names = {file.name for file in folder.iterdir()}
    if FOLDER not in names or {*map(_without_gz, names)}.isdisjoint(TEXTS):
        return None
    files = _files_of_splits(folder / FOLDER)
    splits = sorted(files)
    if not splits:
        return None
    split = TEST
    if TEST not in files:
        split = splits[0]
        if len(splits) > 1:
            expected = f"give the file of one, such as {files[split]}"
            have = f"its {FOLDER} are of {shown_names(splits)}, but not of {TEST}"
            raise ValueError(f"{folder}: {have}; {expected}")
    others = [name for name in splits if name != split]
    if others:
        return files[split], [f"split {split}, not {shown_names(others)}"]
    if split != TEST:
        return files[split], [f"split {split}, the only one"]
    return files[split], []


def _files_of_splits(folder: Path) -> dict[str, Path]:
    """Return the files of judgements by split; of one in both forms, that without compression."""
    files = dict[str, Path]()
    for file in sorted(folder.iterdir(), reverse=True):
        name = _without_gz(file.name)
        if name.endswith(ENDING):
            files[name.removesuffix(ENDING)] = file
    return files


def _without_gz(name: str) -> str:
    """Return the name of a file without the ending of compression."""
    return name.removesuffix(".gz")
