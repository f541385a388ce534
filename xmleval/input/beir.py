"""Folders of BEIR: a corpus, queries, and judgements in ``qrels``, a file for each split."""

from __future__ import annotations

from pathlib import Path

from xmleval.base.errors import shown_names

FOLDER = "qrels"
TEXTS = {"corpus.jsonl", "queries.jsonl"}  # one of them at least is in such a folder
TEST = "test"


def find_judgements(folder: Path) -> tuple[Path, list[str]] | None:
    """Return the file of judgements of a folder, and a remark on its split; None if it is no such.

    The split is ``test``, or the only one; a remark says which one unless it is ``test`` alone.
    """
    if not folder.is_dir():
        return None
    names = {file.name for file in folder.iterdir()}
    if FOLDER not in names or names.isdisjoint(TEXTS):
        return None
    files = {file.stem: file for file in (folder / FOLDER).iterdir() if file.suffix == ".tsv"}
    splits = sorted(files)
    if not splits:
        return None
    split = TEST
    if TEST not in files:
        split = splits[0]
        if len(splits) > 1:
            expected = f"expected the file of one, such as {files[split]}"
            have = f"its {FOLDER} are of {shown_names(splits)}, and none of {TEST}"
            raise ValueError(f"{folder}: {have}; {expected}")
    others = [name for name in splits if name != split]
    if others:
        return files[split], [f"split {split}, and not {shown_names(others)}"]
    if split != TEST:
        return files[split], [f"split {split}, the only one"]
    return files[split], []
