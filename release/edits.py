"""
Small automatic edits of a solution: what a slip of the hand could have made of it.

Operators, comparisons, constants, reductions and their axes, dropped statements; one edit at a
time, only inside solution regions. Whether an edit is a mistake is for the checks to say.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from release.strip import BEGIN, END

SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}
NAMES = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "exp": "exp2",
         "log": "log2", "zeros": "ones", "sum": "max"}


@dataclass(frozen=True)
class Edit:
    """One edit: `id` names it in words that survive changes elsewhere in the file."""

    id: str
    file: str
    source: str


def edits(source: str, file: str) -> Iterator[Edit]:
    """Every edit of the source's solution regions, in order; ids are unique."""
    inside = _lines_inside(source)
    tree = ast.parse(source)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    seen: dict[str, int] = {}
    for function in functions:
        for node in ast.walk(function):
            if getattr(node, "lineno", 0) not in inside:
                continue
            for before, after in _variants(node):
                old, new = ast.unparse(before), ast.unparse(after)
                id_ = f"{file} {function.name}: {_short(old)} -> {_short(new)}"
                seen[id_] = seen.get(id_, 0) + 1
                if seen[id_] > 1:
                    id_ += f" ({seen[id_]})"
                yield Edit(id_, file, ast.unparse(_replaced(tree, before, after)))


def _variants(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(node, what to put in its place)."""
    def variant(**changes) -> tuple[ast.AST, ast.AST]:
        other = copy.copy(node)
        for name, value in changes.items():
            setattr(other, name, value)
        return node, other

    match node:
        case ast.BinOp() | ast.BoolOp() if type(node.op) in SWAPS:
            yield variant(op=SWAPS[type(node.op)]())
        case ast.AugAssign() if type(node.op) in SWAPS:
            yield variant(op=SWAPS[type(node.op)]())
            yield node, ast.Pass()
        case ast.Assign() if len(node.targets) == 1 and isinstance(
                node.targets[0], (ast.Subscript, ast.Attribute)):
            yield node, ast.Pass()
        case ast.Continue():
            yield node, ast.Pass()
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            yield variant(ops=[SWAPS[type(op)]()])
        case ast.Constant(value=bool()):
            yield variant(value=not node.value)
        case ast.Constant(value=int() | float()):
            yield variant(value=node.value + 1)
        case ast.UnaryOp(op=ast.USub()):
            yield node, node.operand
        case ast.IfExp():
            yield node, node.body
            yield node, node.orelse
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in NAMES:
            field = "attr" if isinstance(node, ast.Attribute) else "id"
            yield variant(**{field: NAMES[name]})


def _replaced(tree: ast.Module, before: ast.AST, after: ast.AST) -> ast.Module:
    class Replace(ast.NodeTransformer):
        def visit(self, node):
            return after if node is before else self.generic_visit(_shallow(node))

    return Replace().visit(tree)


def _shallow(node: ast.AST) -> ast.AST:
    """A copy whose lists may be changed without changing the original's."""
    other = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(other, name, list(value))
    return other


def _lines_inside(source: str) -> set[int]:
    inside, is_open = set(), False
    for number, line in enumerate(source.splitlines(), 1):
        if BEGIN.fullmatch(line) or END.fullmatch(line):
            is_open = bool(BEGIN.fullmatch(line))
        elif is_open:
            inside.add(number)
    return inside


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 60 else line[:57] + "..."
