"""Notes with a count, which add up over batches, shards and saved states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from xmleval.base.errors import Field, Keyword, Message, ScanField


class NoteKind(NamedTuple):
    """What is counted and what becomes of it, for several and for one by the words of `SEVERAL` and `SINGLE`.

    ``adds`` tells that counts add up, as those of rows of the truth do. Different batches may have the same
    labels, and the same file of predictions may go with each part of a truth.
    """

    subject: str
    effect: tuple[str | Keyword, ...]
    adds: bool = True


KEYWORD_KINDS: dict[type[Keyword], str] = {Field: "conventions", ScanField: "scan"}  # in saved notes
SEVERAL = {"s": "s", "v": "", "have": "have", "are": "are", "they": "they", "them": "them"}
SINGLE = {"s": "", "v": "s", "have": "has", "are": "is", "they": "it", "them": "it"}
IGNORED, WRONG = ("{they} {are} ignored",), "{they} count{v} as wrong"
BY_NAME = f"{WRONG} (", Keyword("labels"), " picks columns)"
NOTE_KINDS = {
    "rows without predictions": NoteKind(
        "row{s} of the truth {have} no prediction", ("{they} count{v} as empty",)
    ),
    "rows without candidates": NoteKind(
        "row{s} of the truth {have} no candidates", ("nothing is ranked in {them}",)
    ),
    "ignored rows": NoteKind("row{s} {are} not in the truth", IGNORED, adds=False),
    "unknown labels": NoteKind("predicted label{s} never occur{v} in the truth", (WRONG,), adds=False),
    "similar labels": NoteKind(
        "unknown label{s} differ{v} from the truth's in spelling alone",
        ("rename {them} where the same is meant",),
        adds=False,
    ),
    "unknown columns": NoteKind("column{s} {are} no label{s} of the truth", BY_NAME, adds=False),
    "labels without column": NoteKind(
        "label{s} of the truth {have} no column", ("{they} count{v} as not predicted",), adds=False
    ),
    "ignored labels": NoteKind("label{s} occur{v} in no other input", IGNORED, adds=False),
    "unmatched rows": NoteKind("row{s} occur{v} in no other input", IGNORED, adds=False),
    "labels unknown in fitting": NoteKind(
        "label{s} did not occur in fitting", ("{they} {are} never predicted",), adds=False
    ),
    "excluded pairs": NoteKind(
        "pair{s} {are} excluded", ("the others match no relevant and no predicted label",)
    ),
    "pairs excluded from predictions": NoteKind(
        "pair{s} {are} excluded from the predictions", ("the others match no predicted label",)
    ),
}


class Note(Message):
    """A note on an argument, or a file: so many rows, labels or pairs of a kind, ``n`` of ``total``.

    Examples
    --------
    >>> notes = [Note("y_score", "rows without predictions", n) for n in (12, 1)]
    >>> notes[1]
    'y_score: 1 row of the truth has no prediction; it counts as empty'
    >>> joined_notes(notes[:1], notes[1:])
    ('y_score: 13 rows of the truth have no prediction; they count as empty',)
    """

    fields: tuple[str, str, int, int | None, str, bool]

    def __new__(
        cls,
        argument: str,
        kind: str,
        n: int,
        total: int | None = None,
        example: str = "",
        at_least: bool = False,
    ) -> Note:
        """Make the sentence."""
        of_kind = NOTE_KINDS[kind]
        number, size = f"{'at least ' if at_least else ''}{n}", n
        if total is not None:
            number, size = f"{number} of {total}", total
        words = SINGLE if size == 1 else SEVERAL
        effect = [part.format(**words) if isinstance(part, str) else part for part in of_kind.effect]
        such_as = f", such as {example}" if example else ""
        ends = ("; ", *effect) if total is None or n < total else ()
        subject = of_kind.subject.format(**words)
        note = super().__new__(cls, f"{argument}: {number} {subject}{such_as}", *ends)
        assert isinstance(note, Note)
        note.fields = argument, kind, n, total, example, at_least
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy is made from."""
        return Note, self.fields

    def plus(self, second: Note) -> Note:
        """Return the note on both of two inputs."""
        argument, kind, n, total, example, _ = self.fields
        if NOTE_KINDS[kind].adds:
            sum_of_totals = None if total is None else total + (second.fields[3] or 0)
            return Note(argument, kind, n + second.fields[2], sum_of_totals, example)
        examples = [text for text in (example, second.fields[4]) if text]
        return Note(argument, kind, max(n, second.fields[2]), total, min(examples, default=""), True)


def joined_notes(notes: Iterable[str], new_notes: Iterable[str]) -> tuple[str, ...]:
    """Return all notes, each once, with counts of the same kind added up."""
    note_of: dict[Any, str] = {}
    for note in (*notes, *new_notes):
        key = note.fields[:2] if isinstance(note, Note) else str(note)
        before = note_of.get(key)
        note_of[key] = before.plus(note) if isinstance(before, Note) and isinstance(note, Note) else note
    return (*note_of.values(),)


def notes_as_json(notes: Sequence[str]) -> list[Any]:
    """Return notes as JSON values, of which `notes_from_json` makes them again."""
    return [
        {"count": [*note.fields]}
        if isinstance(note, Note)
        else [_part_as_json(part) for part in Message(note).parts]
        for note in notes
    ]


def notes_from_json(values: list[Any]) -> tuple[str, ...]:
    """Return notes of a saved file."""
    return tuple([Note(*value["count"]) if isinstance(value, dict) else _message(value) for value in values])


def _part_as_json(part: str | Keyword) -> str | list[str]:
    if not isinstance(part, Keyword):
        return part
    kind = KEYWORD_KINDS.get(type(part))
    return [part.name, part.value] if kind is None else [part.name, part.value, kind]


def _message(parts: list[Any]) -> Message:
    return Message(*(_keyword(*part) if isinstance(part, list) else part for part in parts))


def _keyword(name: str, value: str, kind: str | None = None) -> Keyword:
    if kind is None:
        return Keyword(name, value)
    classes = {kind: keyword for keyword, kind in KEYWORD_KINDS.items()}
    return classes[kind](name, value)
