"""
One statement of a cell: the names that it binds, changes and needs.

Which statements are kept is decided elsewhere (choice.py); nothing here is run.
"""

from __future__ import annotations

import ast
import symtable
from dataclasses import dataclass

from autograder.intake.source import Outline, outline, parsing

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, *FUNCTION, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Item:
    """One top-level statement that binds names."""

    cell: int
    text: str
    binds: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()  # names whose value it alters: X += 1, X[0] = 1
    now: frozenset[str] = frozenset()  # names that it needs when it runs
    later: frozenset[str] = frozenset()  # names that its functions need when they are called
    outline: Outline | None = None  # of a function
    module: str = ""  # of an import from a students' file, which is replaced once all is read
    name: str = ""  # what it takes from there: a name, "*", or "" for the module itself
    borrowed: bool = False  # it takes a name from a students' file beside the notebook
    demo: bool = False  # it does more than define, so it counts only where nothing else will do

    @property
    def unfinished(self) -> bool:
        return self.outline is not None and self.outline.unfinished


def is_quiet(node: ast.stmt, stems: set[str]) -> bool:
    """Is it a definition, or a block of nothing but definitions, such as try: import?"""
    todo = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            todo.extend(node.body + getattr(node, "orelse", []) + getattr(node, "finalbody", []))
            todo.extend(s for handler in getattr(node, "handlers", []) for s in handler.body)
        elif not isinstance(node, (*_SIMPLE, *IMPORTS, ast.Pass)):
            return False
        elif imports(node, stems):
            return False
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            return False
    return True


def imports(node: ast.AST, stems: set[str]) -> bool:
    """Does it import one of these modules?"""
    return isinstance(node, IMPORTS) and not stems.isdisjoint(
        {getattr(node, "module", ""), *(alias.name for alias in node.names)})


def fills(node: ast.stmt, stems: set[str]) -> bool:
    """Is it a loop, a block or a call of a method, which may give a name what it holds?"""
    blocks = (ast.For, ast.While, ast.If, ast.Try, ast.With)
    method = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(
        node.value.func, ast.Attribute)
    return (method or isinstance(node, blocks)) and not any(
        imports(inner, stems) for inner in ast.walk(node))


def segment(lines: list[str], node: ast.stmt) -> str:
    """The statement's own text."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    part = [line.encode() for line in lines[first - 1 : node.end_lineno]]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0][0 if first < node.lineno else node.col_offset :]
    return b"\n".join(part).decode()


def item_of(number: int, node: ast.stmt, text: str, demo: bool = False) -> Item:
    """What a statement binds and needs; Unreadable when it can't be compiled by itself."""
    with parsing():
        compile(text, "cell", "exec", dont_inherit=True)
        table = symtable.symtable(text, "cell", "exec")
    binds, changes = _targets(node)
    now: set[str] = set(changes)
    later: set[str] = set()
    tables = [(table, True)]
    while tables:
        scope, runs = tables.pop()
        for symbol in scope.get_symbols():
            name = symbol.get_name()
            if scope is not table:
                needed = symbol.is_global()
            else:  # a comprehension's variable is assigned here, from Python 3.12 on
                needed = symbol.is_referenced() and (name in binds or not symbol.is_assigned())
            if needed:
                (now if runs else later).add(name)
        for child in scope.get_children():
            called = child.get_type() == "function" and child.get_name() not in _COMPREHENSIONS
            tables.append((child, runs and not called))
    return Item(
        number,
        text,
        frozenset(binds),
        frozenset(changes),
        frozenset(now),
        frozenset(later),
        outline(node) if isinstance(node, FUNCTION) else None,
        demo=demo,
    )


_COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}


def _targets(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a definition binds, and those whose value it changes."""
    binds: set[str] = set()
    changes: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (*FUNCTION, ast.ClassDef)):
            binds.add(node.name)
        elif isinstance(node, IMPORTS):
            binds.update(a.asname or a.name.partition(".")[0] for a in node.names)
        elif isinstance(node, ast.AugAssign):
            changes.add(_base(node.target))
        elif isinstance(node, ast.Name):
            binds.add(node.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            changes.add(_base(node))
        elif isinstance(node, ast.Assign):
            todo.extend(node.targets)
        elif isinstance(node, ast.AnnAssign):
            todo.append(node.target)
        elif isinstance(node, ast.Expr):  # X.append(1)
            call = node.value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                changes.add(_base(call.func))
        elif isinstance(node, (ast.For, ast.While)):
            todo += [*([node.target] if isinstance(node, ast.For) else []), *node.body,
                     *node.orelse]
        elif isinstance(node, ast.With):
            todo.extend(item.optional_vars for item in node.items if item.optional_vars)
            todo.extend(node.body)
        elif isinstance(
            node, (ast.If, ast.Try, ast.excepthandler, ast.Tuple, ast.List, ast.Starred)
        ):
            todo.extend(n for n in ast.iter_child_nodes(node) if n is not getattr(node, "test", 0))
    return binds, changes - {""}


def _base(node: ast.expr) -> str:
    """The variable of which this is a part: X of X[0].a, "" of f()[0]."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
