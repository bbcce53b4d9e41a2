"""
Which functions a change of sources can reach, by names: the rest need not be tried again.

A function is reached when its own text changed, or when it uses the name of one that is reached.
Names are taken across modules, so that the answer errs on the side of too many.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping


def reached(before: Mapping[str, str], after: Mapping[str, str]) -> set[str] | None:
    """Names of top-level definitions that may behave differently; None when any may."""
    changed: set[str] = set()
    users: dict[str, set[str]] = {}
    for file in before.keys() | after.keys():
        try:
            old, new = (_definitions(sources[file]) for sources in (before, after))
        except (KeyError, SyntaxError):
            return None
        if old.pop("") != new.pop(""):  # imports, constants
            return None
        changed |= {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        for name, text in new.items():
            for used in _names(text):
                users.setdefault(used, set()).add(name)
    todo = list(changed)
    while todo:
        for user in users.get(todo.pop(), set()) - changed:
            changed.add(user)
            todo.append(user)
    return changed


def _definitions(source: str) -> dict[str, str]:
    """Name -> normalised text of each top-level function and class; "" -> all the rest."""
    texts = {"": ""}
    for node in ast.parse(source).body:
        name = node.name if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ""
        texts[name] = texts.get(name, "") + ast.unparse(node) + "\n"
    return texts


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
