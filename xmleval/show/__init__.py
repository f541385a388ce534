"""Tables in every printed form, figures and pages, of what results give."""
