"""Rules of style that no linter checks."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "xmleval").rglob("*.py"))
PRIVATE = re.compile("_(?!fields|replace|asdict|make)[a-z]")  # but those of named tuples
OF_LIBRARIES = {"xmleval/input/tensors.py: tensor._values"}  # private there, too
SOURCES = [*PACKAGE, *sorted((ROOT / "tests").rglob("*.py"))]


def packed_assignments(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of assignments that give several names unrelated values.

    Swaps, and values computed from the names on the left, are related.
    """
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)):
            continue
        if not isinstance(node.value, ast.Tuple):
            continue
        targets = {ast.unparse(target) for target in node.targets[0].elts}
        read = {ast.unparse(part) for part in ast.walk(node.value)}
        if not targets & read:
            yield node.lineno


def test_assignments_give_one_value_or_unpack_one() -> None:
    packed = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        for line in packed_assignments(ast.parse(path.read_text()))
    }
    assert packed == set()


def test_packed_assignments_are_found_but_not_swaps() -> None:
    source = "a, b = 1, 2\na, b = b, a\na, b = f()\na, b = max(a, b), min(a, b)\n"
    assert [*packed_assignments(ast.parse(source))] == [1]


def private_names(tree: ast.AST) -> Iterator[str]:
    """Yield the private methods, fields and attributes that classes of a file define."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (each.name for each in node.body if isinstance(each, ast.FunctionDef))
            for each in node.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    yield each.target.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def test_private_attributes_stay_in_their_room() -> None:
    rooms = defaultdict(set)
    uses = set()
    for path in PACKAGE:
        room = path.relative_to(ROOT / "xmleval").parts[0]
        tree = ast.parse(path.read_text())
        for name in private_names(tree):
            rooms[name].add(room)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and PRIVATE.match(node.attr):
                uses.add((room, f"{path.relative_to(ROOT)}: {ast.unparse(node)}", node.attr))
    crossing = {use for room, use, name in uses if rooms[name] and room not in rooms[name]}
    assert crossing == OF_LIBRARIES


def test_classes_have_unique_names() -> None:
    homes = defaultdict(set)
    for path in PACKAGE:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(path.relative_to(ROOT))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
