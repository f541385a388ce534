"""One evaluation as tasks of rows that are cut, counted and merged, on any engine."""
