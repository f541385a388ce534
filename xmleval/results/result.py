"""What all results share: their printed forms, figures and pages."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Unpack,
    overload,
)

from xmleval.base.errors import (
    InputError,
    Keyword,
    Message,
    did_you_mean,
    import_optional,
    positive_integer,
    shown,
)
from xmleval.files.output import HTML_ENDINGS, refuse_ending, refuse_unwritable, replacing
from xmleval.files.remote import as_path
from xmleval.metrics.lists import parse_names
from xmleval.metrics.spec import Spec, expand_metrics
from xmleval.metrics.spellings import not_there
from xmleval.results.outputs import find_output
from xmleval.results.record import AS_SHOWN, Footnote, Lines, Number, digits_of, listed
from xmleval.results.shown import FigureData
from xmleval.show.tables import (
    Table,
    TableStyle,
    as_csv,
    as_html,
    as_json_value,
    as_latex,
    as_markdown,
    as_text,
    latex_points,
)

if TYPE_CHECKING:
    from xmleval.results.figures import Kind
    from xmleval.results.pages import PageContents
    from xmleval.show.drawing import SomeAxes
    from xmleval.show.panels import Panel

AnyRecord = TypeVar("AnyRecord")
Facts: TypeAlias = Mapping[str, str]  # lines on how results were computed, by their heads
# points of a column of a page with two, and of both
COLUMN_POINTS = 241
PAGE_POINTS = 505
LIBRARIES_OF_FRAMES = ("pandas", "polars")
TEXTS = ("name", "better", "truth", "list_a", "list_b")  # columns of texts that may be empty

# what makes a tabular narrower, in the order in which it is tried
NARROWER: Sequence[TableStyle] = ({"intervals": False}, {"percent": True}, {"digits": 1})


class Style(NamedTuple):
    """How tables show values, checked.

    number : writes the value of a measure
    rows : what has a row
    times_100 : measures whose values are shown times 100
    """

    number: Number
    rows: str
    times_100: Sequence[Spec]

    @property
    def lines(self) -> list[str]:
        """Lines below the tables about the style."""
        return listed({"values times 100": [*map(str, self.times_100)]})


class Result(Protocol[AnyRecord]):
    """A `Report`, `Comparison`, `Diff` or `Ranking`, with all printed forms of its records."""

    notes: list[str]
    _say: Callable[[str], str] = str  # how notes are worded
    _has_rows: ClassVar[Sequence[str]] = ("measures",)  # what has a row in tables; first by default

    def records(self) -> list[AnyRecord]:
        """Return the records of all printed values.

        Returns
        -------
        list
            Of a `Report` and a `Comparison`, a `Record` of each value: its ``spec``, ``bounds`` and
            ``estimate``; within groups also the ``kind`` of the group and its name, ``group``; of
            several models the name, ``model``, and those that this one is significantly
            ``better_than``. Of a `Diff`, a `Change` of each row and then of each label, which has a
            ``support``; of a `Ranking`, a `Rank`.

        Examples
        --------
        >>> report = evaluate(np.eye(4), np.eye(4), metrics=["p@1"], row_groups=[*"aabb"])
        >>> [(each.spec.name, each.kind, each.group, each.value) for each in report.records()]
        [('p@1', '', '', 1.0), ('p@1', 'row_groups', 'a', 1.0), ('p@1', 'row_groups', 'b', 1.0)]
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> records = compare(np.eye(40), models, metrics=["p@1"]).records()
        >>> [(record.model, record.value, record.better_than) for record in records]
        [('a', 1.0, ('b',)), ('b', 0.5, ())]
        """

    def tables(
        self,
        *,
        rows: str | None = None,
        percent: bool = False,
        digits: int | None = None,
        intervals: bool = True,
    ) -> list[Table]:
        """Return the tables that all printed forms show.

        Parameters
        ----------
        rows : {"measures", "models", "data_sets"}, optional
            What has a row: of a `Comparison` measures (default) or models; of a `Ranking` and of
            `Comparisons` data sets (default) or models; of `Rankings` models (default) or measures.
        percent : bool, default False
            Whether to print values times 100, of measures that are at most 1.
        digits : int, optional
            Number of digits after the point; default four, and fewer of large values.
        intervals : bool, default True
            Whether half the width of a confidence interval follows each value.

        Returns
        -------
        list of Table
            Each has a ``caption`` and ``rows`` of cells, the first of which are its head.

        Raises
        ------
        ValueError
            If a result of this kind has no such rows, or digits are no whole number.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3), metrics=["p@1"])
        >>> (table,) = report.tables()
        >>> table.caption, [[cell.text for cell in row] for row in table.rows]
        ('3 rows x 3 labels', [['measure', '@1'], ['P', '1.0000']])
        >>> report.tables(percent=True, digits=1)[0].rows[1][1].text
        '100.0'
        """
        style = self._style(rows=rows, percent=percent, digits=digits, intervals=intervals)
        return self._tables(style.number, style.rows)

    def footnotes(self) -> list[str]:
        """Return the lines below the tables: settings that affect values, exclusions, `notes`.

        Examples
        --------
        >>> evaluate(np.eye(3), np.eye(3) + 1, metrics=["ndcg@3"]).footnotes()
        ['ties=order empty=zero unlisted=below']
        """
        return [footnote.text for footnote in self._placed_footnotes()]

    def _placed_footnotes(self) -> list[Footnote]:
        """Return the footnotes with their subjects."""

    def _explained_settings(self) -> dict[str, str]:
        """Return the settings that affect values, with their effect in words."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but row values and curves as JSON values.

        Returns
        -------
        dict
            Undefined values are None. A `Report` has ``values``, settings and ``notes``, a
            `Comparison` its ``reports``, and where models were compared ``comparison`` with
            ``differences`` (within groups as ``groups`` and ``row_groups``), a `Diff` ``changes``,
            as in ``results/schema.json``. A `Ranking`, without ``schema``, has all of its
            attributes but ``symbol``.

        Examples
        --------
        >>> evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"]).to_dict()["values"]
        {'p@1': 0.3333333333333333}
        >>> models = {"a": np.eye(40) + 1, "b": np.eye(40)[np.arange(40) // 2 * 2] + 1}
        >>> contents = compare(np.eye(40), models, metrics=["p@1"]).to_dict()
        >>> contents["comparison"]["differences"][0]["difference"]
        0.5
        """
        return dict(as_json_value(self._members()))

    def to_json(self) -> str:
        """Return `to_dict` as JSON; null where a value is undefined.

        Examples
        --------
        >>> import json
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> json.loads(report.to_json())["n_rows"]
        3
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __str__(self) -> str:
        """Return `to_text`."""
        return self.to_text()

    def to_text(
        self, width: int | None = None, colour: bool = False, **style: Unpack[TableStyle]
    ) -> str:
        """Return the tables for a terminal, with the footnotes below.

        Parameters
        ----------
        width : int, optional
            Number of columns of the terminal; default no limit.
        colour : bool, default False
            Whether to colour.
        style
            Keywords of `tables`.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> print(report.to_text(width=40))
        3 rows x 3 labels
        measure      @1
        ---------------
        P ↑      0.3333
        ties=order empty=zero unlisted=below
        """
        checked = self._style(**style)
        tables = self._tables(checked.number, checked.rows)
        return as_text(tables, [*checked.lines, *self.footnotes()], width, colour)

    def to_markdown(self, **style: Unpack[TableStyle]) -> str:
        """Return the tables as Markdown, with the footnotes below; ``style`` as for `tables`.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> report.to_markdown().splitlines()[:3]
        ['| measure | @1 |', '|---|---:|', '| P ↑ | 0.3333 |']
        """
        checked = self._style(**style)
        tables = self._tables(checked.number, checked.rows)
        return as_markdown(tables, [*checked.lines, *self.footnotes()])

    def _repr_html_(self) -> str:
        """Return the tables for a notebook."""
        return as_html(self.tables(), self.footnotes())

    def to_latex(self, **style: Unpack[TableStyle]) -> str:
        r"""Return the tables as LaTeX tabulars (package booktabs), with the footnotes as comments.

        All values of a measure have as many digits after the point. Of several models, the best
        value is bold and the second best of three or more is underlined; values within groups stand
        below those of the whole. Where models were compared, the better of two has a star, and
        there is a column of p-values; of more, each has the letters of those that it beats. A
        comment tells how a tabular becomes narrower that does not fit one of two columns of a page.

        Parameters
        ----------
        style
            Keywords of `tables`.

        Raises
        ------
        InputError
            As `tables` does.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> print(report.to_latex(percent=True))
        % values times 100: p@1
        % ties=order empty=zero unlisted=below
        \begin{tabular}{lr}
        \toprule
        measure & @1 \\
        \midrule
        P $\uparrow$ & 33.33 \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
        """
        checked = self._style(one_number=True, **style)
        tables, legend = self._paper(checked)
        lines = [*checked.lines, *self._width_lines(tables, style), *self.footnotes()]
        return as_latex(tables, lines) + legend

    def _width_lines(self, tables: Sequence[Table], style: TableStyle) -> list[str]:
        """Return a line on how a tabular becomes narrower, if it is wider than a column."""
        points = latex_points(tables)
        if points <= COLUMN_POINTS:
            return []
        sizes = f"a column of a page with two has {COLUMN_POINTS}, both have {PAGE_POINTS}"
        text = f"about {points} pt wide; {sizes}"
        for limit, place in ((COLUMN_POINTS, "a column"), (PAGE_POINTS, "both, as table*")):
            if points <= limit:
                return [f"{text}: it fits {place}"]
            changes = self._narrower(style, limit)
            if changes is not None:
                keywords = list[str | Keyword]()
                for name, value in changes.items():
                    keywords += [" and " if keywords else "", Keyword(name, str(value))]
                return [self._say(Message(text, f": it fits {place}, with ", *keywords))]
        return [f"{text}: too wide for either, leave out some columns"]

    def _narrower(self, style: TableStyle, limit: int) -> TableStyle | None:
        """Return the first changes of a style with which a tabular fits; None if it never does."""
        narrow = TableStyle(**style)
        changes = TableStyle()
        points = self._latex_points(narrow)
        for change in NARROWER:
            changed = TableStyle(**narrow)
            changed.update(change)
            if self._latex_points(changed) < points:
                narrow = changed
                changes.update(change)
                points = self._latex_points(narrow)
            if points <= limit:
                return changes
        return None

    def _latex_points(self, style: TableStyle) -> int:
        """Return the width of the widest tabular in a style."""
        tables, _ = self._paper(self._style(one_number=True, **style))
        return latex_points(tables)

    def to(self, form: str) -> str:
        """Return the result in a form that an installed package offers.

        Parameters
        ----------
        form : str
            Name of an entry point in the group "xmleval.outputs": a function of the list of
            `records` and of the list of tables, which returns a text.

        Raises
        ------
        ValueError
            If no installed package offers the form.

        Examples
        --------
        >>> report = evaluate(np.eye(2), np.eye(2), metrics="p@1")
        >>> try:
        ...     report.to("asciidoc")
        ... except ValueError as error:
        ...     print(error)
        no installed package offers results in the form 'asciidoc'
        """
        output = find_output(form)
        return output(self.records(), self.tables())

    def to_csv(self) -> str:
        """Return CSV in full precision.

        Returns
        -------
        str
            A line for each measure: name, symbol, direction, value, bounds, with confidence
            intervals also their ends and standard errors, then the values of groups; of several
            models, the columns of each. Of models that were compared, a line for each measure of
            each pair, also within groups. A `Diff` has a line for each row and label, with a ;
            between labels, and a `Ranking` one for each model.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> print(report.to_csv())
        name,symbol,direction,value,lower,upper
        p@1,P@1,up,0.3333333333333333,,
        <BLANKLINE>
        """
        return as_csv(*self._lines(bounded=True))

    def to_frame(self, library: str = "pandas") -> Any:
        """Return a data frame of pandas or Polars.

        Parameters
        ----------
        library : {"pandas", "polars"}, default "pandas"
            Library of the frame. Others read a result by ``__arrow_c_stream__``.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The lines of `to_csv`; ``lower`` and ``upper`` bounds only if there are any. In pandas,
            the first field is the index, and missing and undefined numbers are NaN; in Polars, they
            are null.

        Raises
        ------
        ImportError
            If the library is not installed.
        ValueError
            If the library is neither of these, or two columns of a Polars frame have one name.

        Examples
        --------
        >>> report = evaluate(np.eye(3), np.eye(3)[[0, 2, 1]] + 1, metrics=["p@1"])
        >>> report.to_frame()["value"].tolist()  # doctest: +SKIP
        [0.3333333333333333]
        """
        if library not in LIBRARIES_OF_FRAMES:
            expected = " or ".join(LIBRARIES_OF_FRAMES)
            raise ValueError(f"library {shown(library)} is not {expected}")
        module = import_optional(library, f"to_frame({library!r})", library)
        names, lines = self._lines(bounded=False)
        if library == "polars":
            columns = _columns_of(names, lines)
            types = _types_of_empty(columns, text=module.String, number=module.Float64)
            return module.DataFrame(columns, schema_overrides=types)
        rows = [[math.nan if value is None else value for value in line[1:]] for line in lines]
        index = module.Index([line[0] for line in lines], name=names[0])
        return module.DataFrame(rows, index=index, columns=names[1:])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the lines of `to_csv` as Arrow data, which ``pyarrow.table`` reads."""
        pyarrow = import_optional("pyarrow", "Arrow data", "arrow")
        columns = _columns_of(*self._lines(bounded=False))
        types = _types_of_empty(columns, text=pyarrow.string(), number=pyarrow.float64())
        arrays = {name: pyarrow.array(column, types.get(name)) for name, column in columns.items()}
        return pyarrow.table(arrays).__arrow_c_stream__(requested_schema)

    def plot(
        self,
        kind: str | None = None,
        *,
        metrics: str | Iterable[str] | None = None,
        ax: SomeAxes | None = None,
    ) -> Any:
        """Draw a figure with matplotlib.

        Parameters
        ----------
        kind : str, optional
            ``values`` (default): measures with their intervals; ``differences`` of compared models;
            ``cutoffs``: measures against k; ``ranks``: precision at each rank; ``groups``: measures
            within groups of labels; ``precision_recall`` and ``roc`` curves, ``scores`` of relevant
            and irrelevant entries and ``calibration``, which need ``curve_points=``, calibration
            ``ece@5`` or its kind instead; ``labels``: values by label of two models. Of a
            `Ranking`, ``critical_difference`` (default), the diagram of Demsar 2006, in which bars
            join models that do not differ significantly; or ``average_ranks``, a line of dots. A
            `Diff` has no figures.
        metrics : str or iterable of str, optional
            The measures to show; default all that the kind can show. Against k, a measure named at
            one cutoff alone is drawn at all that were computed.
        ax : matplotlib Axes, or array of them, optional
            Axes to draw into, as many as the figure has panels; default a new figure.

        Returns
        -------
        Axes, or ndarray of Axes if there are several panels

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        KeyError
            If a measure was not computed.
        ValueError
            If there is no such kind, or it needs what was not computed.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> report = evaluate(np.eye(4), np.eye(4), metrics=["p@1", "p@3"])
        >>> report.plot("cutoffs").get_title(loc="left")
        'P'
        """
        from xmleval.show.drawing import plot  # only here: few look at pictures

        kinds = self._kinds()
        if kind is None:
            kind = next(iter(kinds), "")
        panels = self._panels(kind, metrics)
        return plot(panels, ax, Message(f"kind: {shown(kind)} needs ", kinds[kind].needs))

    def _panels(self, kind: str, metrics: str | Iterable[str] | None = None) -> Sequence[Panel]:
        """Return the panels that `plot` draws; none if their results are missing."""
        kinds = self._kinds()
        if not kinds:
            raise ValueError(f"a {type(self).__name__} has no figures")
        if kind not in kinds:
            hint = did_you_mean(str(kind), kinds) or f"there are {', '.join(kinds)}"
            raise ValueError(f"kind: {shown(kind)} is not a figure; {hint}")
        specs = self._specs(kinds[kind].in_tables)
        if metrics is not None:
            if not specs:
                reason = f"no measure of this {type(self).__name__} is known; leave this out"
                raise InputError("metrics", reason)
            selected = select_specs(specs, metrics)
            specs = _at_all_cutoffs(specs, selected) if kinds[kind].against_k else selected
        return kinds[kind].make(self._figure_data(specs))

    @overload
    def to_html(
        self, path: None = None, *, title: str | None = None, about: Facts | None = None
    ) -> str: ...

    @overload
    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        about: Facts | None = None,
    ) -> None: ...

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        about: Facts | None = None,
    ) -> str | None:
        """Write a page with tables and figures, as one HTML file that needs no network.

        Figures are those of `plot` for which there are results: evaluate with ``confidence``,
        several cutoffs, ``label_groups``, ``curve_points`` and ``per_label`` to have all of them.

        Parameters
        ----------
        path : path, optional
            The file to write or replace, such as ``report.html``; where that fails with an OSError,
            an existing file is unchanged. Default: the page is returned.
        title : str, optional
            Title of the page; default ``Evaluation of`` the models, as far as they have names, and
            of a `Ranking` ``Ranking of models``.
        about : dict of str to str, optional
            Lines on how the results were computed.

        Returns
        -------
        str or None
            The page, if no ``path`` is given.

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.
        OSError
            If the file cannot be written.
        ValueError
            If the ending of the file's name is that of another format.

        Examples
        --------
        >>> report = evaluate(np.eye(4), np.eye(4), metrics=["p@1", "p@3"])
        >>> report.to_html("report.html")
        >>> page = report.to_html(title="Identity")
        >>> page[page.index("<title>") :].splitlines()[0]
        '<title>Identity</title>'
        """
        import_optional("jinja2", "to_html()", "html")  # before anything is made for it
        import_optional("matplotlib", "to_html()", "html")
        if path is None:
            return self._page(title, about)
        file = as_path(path)
        refuse_ending(file, "a page", HTML_ENDINGS, others=False)
        refuse_unwritable(file)
        page = self._page(title, about)
        with replacing(file) as output:
            output.write(page.encode())
        return None

    def _worded(self, say: Callable[[str], str]) -> Self:
        """Return a copy with notes and missing inputs in other words."""
        changed = copy(self)
        vars(changed)["notes"] = [*map(say, self.notes)]
        vars(changed)["_say"] = say
        return changed

    def _style(
        self,
        *,
        rows: str | None = None,
        percent: bool = False,
        digits: int | None = None,
        intervals: bool = True,
        one_number: bool = False,
    ) -> Style:
        """Return how tables show values; with ``one_number``, of one number of digits a measure."""
        if rows is None:
            rows = self._has_rows[0]
        if rows not in self._has_rows:
            kinds = " or ".join(map(repr, self._has_rows))
            text = f"{shown(rows)} have no rows here; expected {kinds}"
            raise InputError("rows", text)
        if digits is not None:
            digits = positive_integer("digits", digits, at_least=0)
        times_100 = list[Spec]()
        if percent:
            times_100 = [spec for spec in self._specs() if max(map(abs, spec.metric.range)) <= 1]
        number = Number(intervals=bool(intervals))
        if one_number or percent or digits is not None:
            names = frozenset(spec.name for spec in times_100)
            number = replace(
                number, digits=digits_of(self._printed(), names, digits), times_100=names
            )
        return Style(number, rows, times_100)

    # Methods that classes define or override

    def _title(self) -> str:
        """Return the size of the data, in words."""

    def _specs(self, in_tables: bool = True) -> Sequence[Spec]:
        """Return the measures of tables; with ``in_tables`` False, those of figures."""

    def _tables(self, number: Number = AS_SHOWN, rows: str = "") -> list[Table]:
        """Return the tables, with what has a row; by default as on a terminal."""

    def _members(self) -> dict[str, Any]:
        """Return everything as one object, before undefined and infinite numbers are replaced."""

    def _lines(self, bounded: bool) -> Lines:
        """Return the header and the lines of CSV; with columns of bounds even if there are none."""

    def _printed(self) -> Iterable[tuple[Spec, float]]:
        """Return the values that papers print with one number of digits."""
        records: list[Any] = self.records()
        return [(record.spec, record.value) for record in records]

    def _paper(self, style: Style) -> tuple[list[Table], str]:
        """Return the tables of `to_latex`, and the text below them."""
        return self._tables(style.number, style.rows), ""

    def _page(self, title: str | None, about: Facts | None) -> str:
        """Return the page of `to_html`."""
        from xmleval.results.pages import page_of

        return page_of(self._page_contents(), title, about)

    def _page_contents(self) -> PageContents:
        """Return what the page shows."""
        from xmleval.results.pages import PageContents

        return PageContents(
            self._title(),
            self._figure_data([]),
            self._specs(),
            self.tables(),
            self._placed_footnotes(),
            self._explained_settings(),
            {name: (kind, self._panels(name)) for name, kind in self._kinds().items()},
        )

    def _kinds(self) -> Mapping[str, Kind]:
        from xmleval.results.figures import KINDS

        return KINDS

    def _figure_data(self, specs: Sequence[Spec]) -> FigureData:
        """Return reports by the names that figures show, measures, and any comparison."""
        return FigureData({}, specs)


AnyResult = TypeVar("AnyResult", bound="Result[Any]")


def _columns_of(names: Sequence[str], lines: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the columns of lines of CSV, by name; undefined numbers are None."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
    if len(columns) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        text = f"two columns are called {shown(twice)}; give the model of this name another one"
        raise ValueError(text)
    for line in lines:
        for name, value in zip(names, line, strict=True):
            is_undefined = isinstance(value, float) and math.isnan(value)
            columns[name].append(None if is_undefined else value)
    return columns


def _types_of_empty(columns: Mapping[str, list[Any]], text: Any, number: Any) -> dict[str, Any]:
    """Return the types of the columns without values, which no value tells."""
    types = dict[str, Any]()
    for name, column in columns.items():
        if all(value is None for value in column):
            types[name] = text if name in TEXTS else number
    return types


def reword(result: AnyResult, say: Callable[[str], str]) -> AnyResult:
    """Return a copy of a result with notes and missing inputs in other words."""
    return result._worded(say)


def select_specs(
    specs: Sequence[Spec], metrics: str | Iterable[str], k: int | Iterable[int] | None = None
) -> list[Spec]:
    """Return the computed measures that names select.

    Names without a cutoff are at ``k``, by default at all cutoffs that were computed. KeyError is
    raised for a name that selects none.
    """
    by_name = {spec.name: spec for spec in specs}
    cutoffs = k or sorted({spec.k for spec in specs if spec.k}) or [1]
    selected: dict[str, Spec] = {}
    for item in parse_names(metrics) if isinstance(metrics, str) else metrics:
        names = [spec.name for spec, _ in expand_metrics([item], cutoffs)]
        if by_name.keys().isdisjoint(names):
            raise KeyError(not_there(item, [*by_name]))
        selected |= {name: by_name[name] for name in names if name in by_name}
    return [*selected.values()]


def _at_all_cutoffs(specs: Sequence[Spec], selected: Sequence[Spec]) -> list[Spec]:
    """Return selected measures; one that is selected at a single cutoff, at all cutoffs."""
    n_cutoffs = Counter(spec.family for spec in selected)
    others = [spec for spec in specs if n_cutoffs[spec.family] == 1]
    return [*dict.fromkeys([*selected, *others])]
