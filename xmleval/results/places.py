"""Places of values: all rows and labels, or a group."""

Place = tuple[str, str]  # kind and name of a group; empty for all rows and labels
KINDS = {  # of groups: fields of results, and captions of their tables
    "groups": "within groups of labels",
    "shares": "shares of groups of labels",
    "row_groups": "groups of rows",
}
GROUPS_OF = {"": "", "groups": "labels", "shares": "shares", "row_groups": "rows"}
SIZES = {"groups": ("n_labels", "n_rows"), "shares": (), "row_groups": ("n_rows",)}
