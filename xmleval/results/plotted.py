"""Plotted: what is drawn as figures, and shown as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xmleval.base.errors import Message, did_you_mean
from xmleval.metrics.spec import Spec, expand_metrics
from xmleval.metrics.spellings import not_there
from xmleval.show.printed import Printed

if TYPE_CHECKING:
    from xmleval.results.comparison import Comparison
    from xmleval.results.report import Report
    from xmleval.show.drawing import Draw
    from xmleval.show.tables import Table


class Plotted(Printed):
    """Reports of models that have figures."""

    specs: Sequence[Spec]

    def size(self) -> str:
        """Return the size of the data in words (@private)."""
        raise NotImplementedError

    def tables_by_kind(self) -> dict[str, list[Table]]:
        """Return further tables by the kind of figure that they belong to (@private)."""
        raise NotImplementedError

    def _models(self, specs: Sequence[Spec] = ()) -> Mapping[str, Report]:
        """Return the reports by name, with lengths of lists where some are too short for measures."""
        raise NotImplementedError

    def compared(self) -> Comparison | None:
        """Return itself if it has models side by side (@private)."""
        return None

    def _plotted(self) -> Sequence[Spec]:
        """Return the measures that figures may show, unless measures are named."""
        return list(self.specs)

    def plot(
        self, kind: str = "values", *, metrics: str | Iterable[str] | None = None, ax: Any = None
    ) -> Any:
        """Draw a figure with matplotlib.

        Parameters
        ----------
        kind : str, default "values"
            ``values``: measures with their intervals; ``differences`` of compared models; ``cutoffs``:
            measures against k; ``ranks``: precision at each rank; ``groups``: measures within groups of
            labels; ``precision_recall`` and ``roc`` curves, ``scores`` of relevant and irrelevant entries and
            ``calibration``, which need ``curve_points=``, calibration ``ece@5`` or its kind instead;
            ``labels``: values by label of two models.
        metrics : str or iterable of str, optional
            The measures to show; default all that the kind can show. Against k, a measure named at one cutoff
            alone is drawn at all that were computed.
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
        from xmleval.results.figures import KINDS
        from xmleval.show.drawing import plot  # only here: few look at pictures

        draw_panels = self.drawing(kind, metrics)
        return plot(draw_panels, ax, Message(f"kind: {kind!r} needs ", KINDS[kind].needs))

    def drawing(self, kind: str, metrics: str | Iterable[str] | None = None) -> Draw:
        """Return what draws a figure into axes that it asks for, see `plot` (@private)."""
        from xmleval.results.figures import KINDS

        if kind not in KINDS:
            hint = did_you_mean(str(kind), KINDS) or f"there are {', '.join(KINDS)}"
            raise ValueError(f"kind: {kind!r} is no figure; {hint}")
        specs = list(self.specs) if KINDS[kind].of_tables else self._plotted()
        chosen = specs if metrics is None else _chosen(specs, metrics)
        if KINDS[kind].against_k:
            chosen = _at_all_cutoffs(chosen, specs)
        models = self._models(chosen)
        return lambda new_axes: KINDS[kind].draw(new_axes, models, chosen, self)

    def to_html(self, title: str | None = None, *, about: Mapping[str, str] | None = None) -> str:
        """Return a page with tables and figures, as one HTML file that needs no network.

        Figures are those of `plot` for which there are results: evaluate with ``confidence``, several
        cutoffs, ``label_groups``, ``curve_points`` and ``per_label`` to have all of them.

        Parameters
        ----------
        title : str, optional
            Title of the page; default the names of the models.
        about : dict of str to str, optional
            Lines on how the results were computed.

        Returns
        -------
        str

        Raises
        ------
        ImportError
            If jinja2 or matplotlib is not installed.

        Examples
        --------
        >>> page = evaluate(np.eye(4), np.eye(4), metrics=["p@1", "p@3"]).to_html("Identity")
        >>> page[page.index("<title>") :].splitlines()[0]
        '<title>Identity</title>'
        """
        from xmleval.results.pages import page_of

        return page_of(self, title, about)


def _chosen(specs: Sequence[Spec], metrics: str | Iterable[str]) -> list[Spec]:
    """Return those of the specs that some names stand for."""
    by_name = {spec.name: spec for spec in specs}
    cutoffs = sorted({spec.k for spec in specs if spec.k}) or [1]
    chosen: dict[str, Spec] = {}
    for item in [metrics] if isinstance(metrics, str) else metrics:
        names = [spec.name for spec, _ in expand_metrics(item, cutoffs)]
        if by_name.keys().isdisjoint(names):
            raise KeyError(not_there(item, [*by_name]))
        chosen |= {name: by_name[name] for name in names if name in by_name}
    return [*chosen.values()]


def _at_all_cutoffs(chosen: Sequence[Spec], specs: Sequence[Spec]) -> list[Spec]:
    """Return measures at the cutoffs that were chosen, or at all where a single one was."""
    families: dict[str, list[Spec]] = {}
    for spec in chosen:
        families.setdefault(spec.family, []).append(spec)
    return [
        spec
        for family, members in families.items()
        for spec in (members if len(members) > 1 else [spec for spec in specs if spec.family == family])
    ]
