"""Conventions that affect values: fields, presets and the one-line signature."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from xmleval.base.errors import Field, Keyword, Message, did_you_mean, shown
from xmleval.base.numerals import decimal_number

# values of each field, with what they do
CHOICES: dict[str, dict[str | float, str]] = {
    "auc_ties": {
        "half": "tied pairs of a relevant and an irrelevant label count half in AUC",
        "full": "tied pairs of a relevant and an irrelevant label count as correct in AUC",
        "none": "tied pairs of a relevant and an irrelevant label count as wrong in AUC",
    },
    "loss_ties": {
        "full": "tied pairs count as errors in ranking loss, is-error and error-set size",
        "half": "tied pairs count as half an error in ranking loss, is-error and error-set size",
        "none": "tied pairs count as no error in ranking loss, is-error and error-set size",
    },
    "ties": {
        "order": "equal scores keep the order of the ranking in measures of ranks",
        "expected": "measures of ranks are expected values over all orders of equal scores",
        "band": "measures of ranks are expected values over all orders of equal scores, "
        "with the smallest and the largest value of any order",
        "expected_dcg": "DCG and nDCG are expected values over all orders of equal scores, which "
        "keep the order of the ranking in other measures",
    },
    "empty": {
        "zero": "rows without relevant labels count 0 in measures at k",
        "skip": "rows without relevant labels are left out of measures at k",
        "one": "rows without relevant labels count 1 in measures at k whose formula is 0/0, else 0",
    },
    "ap_empty": {
        "skip": "labels without relevant rows are left out of average precision",
        "zero": "labels without relevant rows count 0 in average precision",
    },
    "no_pairs": {
        "skip": "rows without a pair of a relevant and an irrelevant label are left out",
        "perfect": "rows without a pair of a relevant and an irrelevant label count as perfect",
        "perfect_except_auc": "rows without a pair of a relevant and an irrelevant label count as "
        "perfect, but are left out of AUC",
        "perfect_if_relevant": "rows without a pair of a relevant and an irrelevant label count as "
        "perfect, but are left out of AUC, and without relevant labels also of LRAP",
    },
    "zero_division": {
        0.0: "0/0 is 0 in measures of sets",
        1.0: "0/0 is 1 in measures of sets",
        math.nan: "rows and labels with 0/0 are left out of measures of sets",
        "both_empty": "0/0 is 1 in measures of sets where truth and prediction are both empty, "
        "else 0",
    },
    "labels": {
        "all": "macro averages are over all labels",
        "present": "macro averages are over the labels with a relevant row",
        "seen": "macro averages are over the labels with a relevant or a predicted row",
    },
    "map_norm": {
        "capped": "MAP at k divides by min(k, R), for R relevant labels",
        "relevant": "MAP at k divides by R, the number of all relevant labels",
    },
    "gains": {
        "binary": "a relevant label has a gain of 1 in DCG and nDCG",
        "linear": "a relevant label has its grade as gain in DCG and nDCG",
        "exp": "a relevant label has a gain of 2^grade - 1 in DCG and nDCG",
    },
    "link": {
        "none": "scores are probabilities for measures of calibration",
        "sigmoid": "scores are logits of probabilities for measures of calibration",
    },
}
UNLISTED = {
    "below": "labels without a score rank below all others, tied with one another",
    "score": "labels without a score have this score",
}
RELEVANT_FROM = "labels with a grade of {} or above are relevant"
MOST_GRADE = 1 << 31
MOST_EXPONENT = 64  # above all exponents of gains
TIE_CREDIT = {"full": 1.0, "half": 0.5, "none": 0.0}


@dataclass(frozen=True)
class Conventions:
    """Conventions for cases in which the literature and libraries differ.

    Parameters
    ----------
    auc_ties : {"half", "full", "none"}
        Credit for a tied (relevant, irrelevant) pair in AUC.
    loss_ties : {"full", "half", "none"}
        Weight of a tied pair as an error in ranking loss, is-error and error-set size.
    ties : {"order", "expected", "band", "expected_dcg"}
        Order of equal scores in measures at k and of ranks of a row: as they rank;
        all orders, of which the value is the mean; all orders, with the smallest and the largest
        value next to the mean; or all orders for DCG and nDCG alone, as in scikit-learn. AUC,
        ranking loss, LRAP and coverage error have rules of their own.
    empty : {"zero", "skip", "one"}
        Value of measures at k without relevant labels: 0, left out, or 1 where the formula is 0/0.
    ap_empty : {"skip", "zero"}
        Average precision of a label, or of all entries, without relevant ones: left out, or 0.
    no_pairs : {"skip", "perfect", "perfect_except_auc", "perfect_if_relevant"}
        Instances without a (relevant, irrelevant) pair: left out, perfect, or perfect except in
        AUC, and in the last case except in LRAP of instances without relevant labels, too.
    zero_division : {0, 1, nan, "both_empty"}
        Value of 0/0 in measures of sets; nan leaves the instance or label out of the mean,
        "both_empty" is 1 where truth and prediction are both empty (specificity: both full) and
        else 0.
    labels : {"all", "present", "seen"}
        Labels in macro averages: all, those with a relevant instance, or those with
        tp + fp + fn > 0.
    unlisted : "below" or float
        Score of labels without a stored score: below all others, tied with one another, or this
        number, such as 0.0 of the dense matrix.
    map_norm : {"capped", "relevant"}
        What MAP at k divides the precisions by: min(k, R), or all R relevant labels, as trec_eval.
    gains : {"binary", "linear", "exp"}
        Gain of a relevant label in DCG and nDCG: 1, or for a truth with grades of relevance its
        grade (linear, as trec_eval) or 2^grade - 1 (exp).
    relevant_from : int
        Least grade of relevant labels, as trec_eval's ``-l``, for a truth with grades. By default,
        1, labels with any positive grade are relevant. Linear and exponential gains in DCG and nDCG
        stay those of all grades.
    link : {"none", "sigmoid"}
        How measures of calibration make probabilities of scores: none, scores are probabilities, or
        the sigmoid of logits. Rankings, and the scores that a decision is about, stay as they are.

    Raises
    ------
    ValueError
        If a field has an invalid value.

    Examples
    --------
    >>> Conventions(empty="skip").signature(["empty", "auc_ties"])
    'auc_ties=half empty=skip'
    """

    auc_ties: str = "half"
    loss_ties: str = "full"
    ties: str = "order"
    empty: str = "zero"
    ap_empty: str = "skip"
    no_pairs: str = "skip"
    zero_division: float | str = 0.0
    labels: str = "all"
    unlisted: str | float = "below"
    map_norm: str = "capped"
    gains: str = "binary"
    relevant_from: int = 1
    link: str = "none"

    def __post_init__(self) -> None:
        """Check every field."""
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if name == "zero_division":
                number = _number(value)
                if number is not None and (math.isnan(number) or number in choices):
                    object.__setattr__(self, name, number)
                    continue
            if not (isinstance(value, str) and value in choices):
                texts = ", ".join(f"{c:g}" if isinstance(c, float) else str(c) for c in choices)
                raise ValueError(f"conventions: {name}={shown(value)} is not one of {texts}")
        if self.unlisted != "below":
            object.__setattr__(self, "unlisted", _check_unlisted(self.unlisted))
        object.__setattr__(self, "relevant_from", _check_grade(self.relevant_from))

    @property
    def unlisted_score(self) -> float | None:
        """Score of unlisted labels; None: below all.

        Examples
        --------
        >>> Conventions(unlisted=0.0).unlisted_score
        0.0
        """
        if self.unlisted == "below":
            return None
        return float(self.unlisted)

    @property
    def graded(self) -> bool:
        """Whether the truth has grades of relevance.

        Examples
        --------
        >>> Conventions(gains="exp").graded
        True
        """
        return self.has_gains or self.relevant_from > 1

    @property
    def has_gains(self) -> bool:
        """Whether grades of relevance are gains in DCG and nDCG.

        Examples
        --------
        >>> Conventions(relevant_from=2).has_gains
        False
        """
        return self.gains != "binary"

    @property
    def all_orders(self) -> bool:
        """Whether measures of ranks are expected values over all orders of equal scores.

        Examples
        --------
        >>> Conventions(ties="band").all_orders
        True
        """
        return self.ties in ("expected", "band")

    @property
    def shares_discounts(self) -> bool:
        """Whether equal scores share the mean discount of their ranks in DCG and nDCG.

        Examples
        --------
        >>> Conventions(ties="expected_dcg").shares_discounts
        True
        """
        return self.ties != "order"

    @property
    def read_gains(self) -> str:
        """Gains that grades are read as; the grades where only relevance depends on them.

        Examples
        --------
        >>> Conventions(relevant_from=2).read_gains
        'linear'
        """
        if self.graded and not self.has_gains:
            return "linear"
        return self.gains

    @property
    def least_gain(self) -> float:
        """Least gain, as read, of a relevant label; 0 where all with a positive gain are relevant.

        Examples
        --------
        >>> Conventions(gains="exp", relevant_from=2).least_gain
        3.0
        """
        return gain_from(self.relevant_from, self.gains)

    def signature(self, names: Collection[str]) -> str:
        """Return the named fields on one line, in the order of the class.

        Gains are shown only if the truth has grades, and the least grade of relevant labels, named
        or not, if it is above 1.

        Examples
        --------
        >>> Conventions(empty="skip").signature(["empty", "unlisted"])
        'empty=skip unlisted=below'
        """
        return " ".join(self.explained(names))

    def explained(self, names: Collection[str]) -> dict[str, str]:
        """Return what the named fields do, in words, by the texts of `signature`.

        Examples
        --------
        >>> Conventions(empty="skip").explained(["empty"])
        {'empty=skip': 'rows without relevant labels are left out of measures at k'}
        """
        words = dict[str, str]()
        for field in fields(self):
            is_shown = field.name in names
            if field.name == "gains":
                is_shown = is_shown and self.has_gains
            elif field.name == "relevant_from":
                is_shown = self.relevant_from > 1
            if is_shown:
                value = getattr(self, field.name)
                words[f"{field.name}={_plain(value)}"] = _explain(field.name, value)
        return words

    def as_dict(self) -> dict[str, str | float]:
        """Return all fields as JSON values; non-finite numbers are strings.

        Examples
        --------
        >>> Conventions(empty="skip").as_dict()["empty"]
        'skip'
        """
        return {name: _plain(value) for name, value in asdict(self).items()}


def gain_from(level: int, gains: str) -> float:
    """Return the least gain of labels from a grade on; 0 for 1, as any positive grade counts."""
    if level == 1:
        return 0.0
    if gains == "exp":
        return math.ldexp(1.0, min(level, MOST_EXPONENT)) - 1.0
    return float(level)


def gains_to_read(conventions: Conventions, for_levels: bool) -> str:
    """Return the gains that grades are read as, also where only levels of measures need grades.

    Examples
    --------
    >>> gains_to_read(Conventions(), True), gains_to_read(Conventions(), False)
    ('linear', 'binary')
    """
    if for_levels and not conventions.graded:
        return "linear"
    return conventions.read_gains


def _explain(name: str, value: str | float) -> str:
    """Return what a field does at a value, in words."""
    if name == "unlisted":
        return UNLISTED["below" if value == "below" else "score"]
    if name == "relevant_from":
        return RELEVANT_FROM.format(value)
    words = {_plain(choice): text for choice, text in CHOICES[name].items()}
    return words[_plain(value)]


def _check_unlisted(value: object) -> float:
    """Return the score of unlisted labels as a number, or refuse it."""
    score = _number(value)
    if score is None or math.isnan(score):
        field = Field("unlisted", shown(value).strip("'"))
        raise ValueError(Message(field, " is neither below nor a number"))
    return score + 0.0  # -0.0 becomes 0.0


def _check_grade(value: object) -> int:
    """Return the least grade of relevant labels, or refuse it."""
    number = _number(value)
    if number is None or not number.is_integer() or not 1 <= number < MOST_GRADE:
        field = Field("relevant_from", shown(value).strip("'"))
        raise ValueError(Message(field, " is not a whole number from 1"))
    return int(number)


def _number(value: object) -> float | None:
    if isinstance(value, str | bytes | bytearray):
        return decimal_number(value)
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _plain(value: object) -> str | float:
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() else value
    return str(value)


PRESETS: dict[str, Conventions] = {
    "default": Conventions(),
    "sklearn": Conventions(
        ties="expected_dcg", ap_empty="zero", no_pairs="perfect_except_auc", unlisted=0.0
    ),
    "wu2017": Conventions(auc_ties="full"),
    "mulan": Conventions(zero_division="both_empty", no_pairs="perfect_if_relevant"),
    "meka": Conventions(no_pairs="perfect"),
    "beir": Conventions(empty="skip", map_norm="relevant", gains="linear"),  # as trec_eval
    "pyxclib": Conventions(),
    "napkinxc": Conventions(),
}


def resolve_conventions(value: str | Conventions | Mapping[str, Any] | None) -> Conventions:
    """Return `Conventions` from a text, a record or a dict.

    A text is the name of a preset, fields such as ``labels=present,empty=skip``, or a preset and
    fields.
    """
    if isinstance(value, Conventions):
        return value
    if isinstance(value, str):
        preset, changed = _parse_text(value)
        return _replace_fields(preset, changed)
    if isinstance(value, Mapping):
        return _replace_fields(PRESETS["default"], value)
    if value is not None:
        raise ValueError(
            f"conventions must be a preset name, Conventions or a dict, not {shown(value)}"
        )
    return PRESETS["default"]


def _parse_text(text: str) -> tuple[Conventions, dict[str, Any]]:
    """Return the preset that a text begins with, and the fields that it changes."""
    name, *items = [item.strip() for item in text.split(",")]
    if "=" in name:
        items = [name, *items]
        name = "default"
    if name not in PRESETS:
        near = did_you_mean(name, PRESETS)
        hint = f"; {near}" if near else ""
        reason = f" is not one of {', '.join(PRESETS)}"
        raise ValueError(Message(Keyword("conventions", shown(name)), reason, hint))
    return PRESETS[name], _parse_fields(items)


def _replace_fields(conventions: Conventions, changed: Mapping[str, Any]) -> Conventions:
    """Return conventions with other values of some fields; refuse unknown fields."""
    field_names = Conventions.__annotations__
    for name in changed:
        if name not in field_names:
            near = did_you_mean(str(name), field_names)
            hint = f"; {near}" if near else ""
            raise ValueError(
                f"conventions: unknown field {shown(name)}; "
                f"fields are {', '.join(field_names)}{hint}"
            )
    if not changed:
        return conventions
    return replace(conventions, **changed)


def names_field(value: str | Conventions | Mapping[str, Any] | None, name: str) -> bool:
    """Whether a text or a dict names a field.

    Examples
    --------
    >>> names_field("beir,empty=zero", "empty"), names_field("beir", "empty")
    (True, False)
    """
    if isinstance(value, str):
        return any(item.strip().startswith(f"{name}=") for item in value.split(","))
    return isinstance(value, Mapping) and name in value


def with_field(
    value: str | Conventions | Mapping[str, Any] | None, name: str, setting: str
) -> str | Conventions | Mapping[str, Any]:
    """Return conventions with another value of a field, in the same form.

    Examples
    --------
    >>> with_field("beir,unlisted=0", "unlisted", "below")
    'beir,unlisted=below'
    """
    if isinstance(value, Conventions):
        changed: dict[str, Any] = {name: setting}
        return replace(value, **changed)
    if isinstance(value, Mapping):
        return {**value, name: setting}
    items: list[str] = []
    if value is not None:
        items = [item.strip() for item in value.split(",")]
    kept = [item for item in items if not item.startswith(f"{name}=")]
    return ",".join([*kept, f"{name}={setting}"])


def changed_fields(value: str | Conventions | Mapping[str, Any] | None) -> list[str]:
    """Return the fields that a text or a dict sets to other values than its preset.

    A `Conventions` object has no preset: the list is empty.

    Examples
    --------
    >>> changed_fields("sklearn,labels=present,empty=zero"), changed_fields("sklearn")
    (['labels'], [])
    """
    if value is None or isinstance(value, Conventions):
        return []
    base = PRESETS["default"]
    if isinstance(value, str):
        base = PRESETS.get(value.partition(",")[0].strip(), base)
    changed = resolve_conventions(value).as_dict()
    return [name for name, setting in base.as_dict().items() if changed[name] != setting]


def _parse_fields(items: list[str]) -> dict[str, Any]:
    """Return the values of ``field=value`` texts by field."""
    values: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise ValueError(
                f"conventions: {shown(item)} is not FIELD=VALUE, such as labels=present; "
                "give one preset at most, first"
            )
        if name in values:
            raise ValueError(
                f"conventions: {name} is given twice, as {values[name]} and as {value}"
            )
        values[name] = value
    return values
