"""Notes with a count, which add up over batches, shards and saved states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from xmleval.base.errors import Keyword, Message


class NoteKind(NamedTuple):
    """What is counted and what becomes of it, each for several and for one.

    ``adds`` tells that counts of different rows add up; different batches may have the same labels.
    """

    subjects: tuple[str, str]
    effects: tuple[str, str]
    adds: bool = True


LABELS_KEYWORD = Keyword("labels")
IGNORED = "they are ignored", "it is ignored"
WRONG = "they count as wrong", "it counts as wrong"
NOTE_KINDS = {
    "rows without predictions": NoteKind(
        ("rows of the truth have no prediction", "row of the truth has no prediction"),
        ("they count as empty", "it counts as empty"),
    ),
    "rows without candidates": NoteKind(
        ("rows of the truth have no candidates", "row of the truth has no candidates"),
        ("nothing is ranked in them", "nothing is ranked in it"),
    ),
    "ignored rows": NoteKind(("rows are not in the truth", "row is not in the truth"), IGNORED),
    "unknown labels": NoteKind(
        ("predicted labels never occur in the truth", "predicted label never occurs in the truth"),
        WRONG,
        adds=False,
    ),
    "unknown columns": NoteKind(
        ("columns are no labels of the truth", "column is no label of the truth"),
        (
            Message("they count as wrong (", LABELS_KEYWORD, " picks columns)"),
            Message("it counts as wrong (", LABELS_KEYWORD, " picks columns)"),
        ),
        adds=False,
    ),
    "labels without column": NoteKind(
        ("labels of the truth have no column", "label of the truth has no column"),
        ("they count as not predicted", "it counts as not predicted"),
        adds=False,
    ),
    "ignored labels": NoteKind(
        ("labels occur in no other input", "label occurs in no other input"), IGNORED, adds=False
    ),
    "unmatched rows": NoteKind(("rows occur in no other input", "row occurs in no other input"), IGNORED),
    "labels unknown in fitting": NoteKind(
        ("labels did not occur in fitting", "label did not occur in fitting"),
        ("they are never predicted", "it is never predicted"),
        adds=False,
    ),
    "excluded pairs": NoteKind(
        ("pairs are excluded", "pair is excluded"),
        ("the others match no relevant and no predicted label",) * 2,
    ),
    "pairs excluded from predictions": NoteKind(
        ("pairs are excluded from the predictions", "pair is excluded from the predictions"),
        ("the others match no predicted label",) * 2,
    ),
}


class Note(Message):
    """A note on an argument, or a file: so many rows, labels or pairs of a kind, ``n`` of ``total``.

    Examples
    --------
    >>> notes = [Note("y_score", "ignored rows", n) for n in (12, 1)]
    >>> notes[1]
    'y_score: 1 row is not in the truth; it is ignored'
    >>> joined_notes(notes[:1], notes[1:])
    ('y_score: 13 rows are not in the truth; they are ignored',)
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
        subject, effect = (texts[size == 1] for texts in (of_kind.subjects, of_kind.effects))
        such_as = f", such as {example}" if example else ""
        ends = ("; ", effect) if total is None or n < total else ()
        note = super().__new__(cls, f"{argument}: {number} ", subject, such_as, *ends)
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
        else [[part.name, part.value] if isinstance(part, Keyword) else part for part in Message(note).parts]
        for note in notes
    ]


def notes_from_json(values: Any) -> tuple[str, ...]:
    """Return notes of a saved file."""
    return tuple([Note(*value["count"]) if isinstance(value, dict) else _message(value) for value in values])


def _message(parts: list[Any]) -> Message:
    return Message(*(Keyword(*part) if isinstance(part, list) else part for part in parts))
