"""One evaluation, from its settings and inputs to its counts and reports."""
