"""Rules of style that no linter checks."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "xmleval").rglob("*.py"))
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


def test_classes_have_unique_names() -> None:
    homes = defaultdict(set)
    for path in PACKAGE:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(path.relative_to(ROOT))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
