"""One evaluation as tasks of rows: how they are cut, counted, reduced and finished, without any engine."""
