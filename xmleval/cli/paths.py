"""Names of files on the command line."""

from __future__ import annotations

import os
from typing import Any

import click

from xmleval.files.remote import as_path


class FileName(click.Path):
    """The path of a file, or the address of a remote one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of a name."""
        return as_path(os.fsdecode(super().convert(value, param, ctx)))
