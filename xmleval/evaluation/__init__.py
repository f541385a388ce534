"""One evaluation, from its inputs to its reports."""
