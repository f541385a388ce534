"""Notes with a count, which add up over batches, shards and saved states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from xmleval.base.errors import Field, Keyword, Message, ScanField


class NoteKind(NamedTuple):
    """Templates of a sentence about input: the thing that is counted, and how it is evaluated.

    subject, effect : with places for the words of `SEVERAL` or `SINGLE`
    adds : whether counts add up, as those of rows of the truth do; different batches may have the
        same labels, and the same file of predictions may go with each part of a truth
    """

    subject: str
    effect: tuple[str | Keyword, ...]
    adds: bool = True


# names of the classes in saved notes
KEYWORD_KINDS: dict[type[Keyword], str] = {
    Field: "conventions",
    ScanField: "scan",
}
SEVERAL = {"s": "s", "v": "", "have": "have", "are": "are", "they": "they", "them": "them"}
SINGLE = {"s": "", "v": "s", "have": "has", "are": "is", "they": "it", "them": "it"}
IGNORED = ("{they} {are} ignored",)
WRONG = "{they} count{v} as wrong"
BY_NAME = f"{WRONG} (", Keyword("labels"), " picks columns)"
NOTE_KINDS = {
    "rows without predictions": NoteKind(
        "row{s} of the truth {have} no prediction", ("{they} count{v} as empty",)
    ),
    "rows without candidates": NoteKind(
        "row{s} of the truth {have} no candidates", ("nothing is ranked in {them}",)
    ),
    "ignored rows": NoteKind("row{s} {are} not in the truth", IGNORED, adds=False),
    "unknown labels": NoteKind(
        "predicted label{s} never occur{v} in the truth", (WRONG,), adds=False
    ),
    "repeated labels": NoteKind(
        "label{s} {are} listed again in a row", ("the best score of each is kept",), adds=False
    ),
    "similar labels": NoteKind(
        "unknown label{s} differ{v} only in spelling from labels of the truth",
        ("rename {them} if {they} mean{v} the same",),
        adds=False,
    ),
    "unknown columns": NoteKind(
        "column{s} {are} not among the labels of the truth", BY_NAME, adds=False
    ),
    "labels without column": NoteKind(
        "label{s} of the truth {have} no column", ("{they} count{v} as not predicted",), adds=False
    ),
    "ignored labels": NoteKind("label{s} occur{v} in no other input", IGNORED, adds=False),
    "unmatched rows": NoteKind("row{s} occur{v} in no other input", IGNORED, adds=False),
    "labels unknown in fitting": NoteKind(
        "label{s} did not occur in fitting", ("{they} {are} never predicted",), adds=False
    ),
    "excluded pairs": NoteKind(
        "pair{s} {have} a relevant or predicted label",
        ("the other pairs affect only measures of all labels",),
    ),
    "pairs excluded from predictions": NoteKind(
        "pair{s} {are} excluded from the predictions", ("the other pairs match no predicted label",)
    ),
}


class Note(Message):
    """A note on an argument or a file: ``n`` of ``total`` rows, labels or pairs are of some kind.

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
        note_kind = NOTE_KINDS[kind]
        number = f"at least {n}" if at_least else str(n)
        size = n
        if total is not None:
            number = f"{number} of {total}"
            size = total
        words = SINGLE if size == 1 else SEVERAL
        sentence = f"{argument}: {number} {note_kind.subject.format(**words)}"
        if example:
            sentence += f", such as {example}"
        parts: list[str | Keyword] = [sentence]
        if total is None or n < total:
            parts.append("; ")
            for part in note_kind.effect:
                parts.append(part.format(**words) if isinstance(part, str) else part)
        note = super().__new__(cls, *parts)
        assert isinstance(note, Note)
        note.fields = argument, kind, n, total, example, at_least
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the arguments that make a copy."""
        return Note, self.fields

    def plus(self, second: Note) -> Note:
        """Return the note on two inputs together."""
        argument, kind, n, total, example, _ = self.fields
        _, _, second_n, second_total, second_example, _ = second.fields
        if NOTE_KINDS[kind].adds:
            if total is not None:
                total += second_total or 0
            return Note(argument, kind, n + second_n, total, example)
        examples = [text for text in (example, second_example) if text]
        first_example = min(examples, default="")
        return Note(argument, kind, max(n, second_n), total, first_example, True)


def joined_notes(notes: Iterable[str], new_notes: Iterable[str]) -> tuple[str, ...]:
    """Return all notes, each once, with counts of the same kind added up."""
    joined: dict[Any, str] = {}
    for note in (*notes, *new_notes):
        if not isinstance(note, Note):
            joined[str(note)] = note
            continue
        key = note.fields[:2]
        earlier = joined.get(key)
        joined[key] = earlier.plus(note) if isinstance(earlier, Note) else note
    return (*joined.values(),)


def notes_as_json(notes: Sequence[str]) -> list[Any]:
    """Return notes as JSON values that `notes_from_json` can read."""
    return [_note_as_json(note) for note in notes]


def notes_from_json(values: list[Any]) -> tuple[str, ...]:
    """Return the notes of a saved file."""
    return tuple([_note_from_json(value) for value in values])


def _note_as_json(note: str) -> dict[str, list[Any]] | list[str | list[str]]:
    if isinstance(note, Note):
        return {"count": [*note.fields]}
    return [_part_as_json(part) for part in Message(note).parts]


def _part_as_json(part: str | Keyword) -> str | list[str]:
    if not isinstance(part, Keyword):
        return part
    kind = KEYWORD_KINDS.get(type(part))
    if kind is None:
        return [part.name, part.value]
    return [part.name, part.value, kind]


def _note_from_json(value: Any) -> Message:
    if isinstance(value, dict):
        return Note(*value["count"])
    return Message(*(_part_from_json(part) for part in value))


def _part_from_json(part: Any) -> str | Keyword:
    if not isinstance(part, list):
        text: str = part
        return text
    return _keyword(*part)


def _keyword(name: str, value: str, kind: str | None = None) -> Keyword:
    if kind is None:
        return Keyword(name, value)
    classes = {kind: keyword for keyword, kind in KEYWORD_KINDS.items()}
    return classes[kind](name, value)
