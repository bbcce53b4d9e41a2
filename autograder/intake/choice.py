"""
Which of a notebook's statements are kept, and in which order.

As when the notebook runs from top to bottom the last definition of a name wins, but a stub gives
way to a written function, and what is needed at once comes first.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from autograder.intake.source import Outline, stubs
from autograder.intake.statements import Item


class Choice:
    """Which statement gives each name its value."""

    def __init__(self, items: list[Item]):
        self.items = items
        self.binders: dict[str, list[int]] = {}
        self.changers: dict[str, list[int]] = {}
        self.stars: list[int] = []
        for i, item in enumerate(items):
            for name in item.binds if not item.demo else ():
                self.binders.setdefault(name, []).append(i)
            for name in item.changes if not item.demo else ():
                self.changers.setdefault(name, []).append(i)
            if item.text.endswith(" import *"):
                self.stars.append(i)
        self._add_demos()
        self._stubs = {i for i, item in enumerate(items) if item.unfinished}
        unwritten = stubs(self.outlines())
        for name, places in self.binders.items():
            for i in places if len(places) > 1 else ():
                if (found := items[i].outline) and found.names & unwritten - {name}:
                    self._stubs.add(i)

    def _add_demos(self):
        """What only a loop or a block binds, and what they fill, as long as it is no module."""
        demos = [i for i, item in enumerate(self.items) if item.demo]
        defined = set(self.binders)
        for i in demos:
            for name in self.items[i].binds - defined:
                self.binders.setdefault(name, []).append(i)
        for i in demos:
            for name in self.items[i].changes & self.binders.keys():
                if not any(self.items[j].text.startswith(("import ", "from "))
                           for j in self.binders[name]):
                    self.changers.setdefault(name, []).append(i)

    def last(self, name: str, before: int | None = None) -> int | None:
        """
        The statement that binds the name last, or last before another statement.

        A stub gives way to a written function. What is only bound later is taken from there.
        """
        places = self.binders.get(name)
        if not places:
            return None
        written = [i for i in places if i not in self._stubs] or places
        if before is None:
            return written[-1]
        earlier = [i for i in written if i < before]
        later = [i for i in written if i > before]
        return earlier[-1] if earlier else later[0] if later else None

    def outlines(self) -> dict[str, Outline]:
        used = {name: self.items[self.last(name)].outline for name in self.binders}
        return {name: found for name, found in used.items() if found}

    def texts(self, roots: set[str]) -> list[str]:
        """The statements that these names need, each after those that it needs when it runs."""
        kept = self._closure((name, None) for name in sorted(roots))
        spare = {  # other functions need nothing to be defined, and a check may call them
            i
            for name, places in self.binders.items()
            if (i := self.last(name)) is not None
            and self.items[i].outline
            and "@" != self.items[i].text[0]
            and all(self._is_there(need, kept) for need in self.items[i].now)
            and not any(place in kept for place in places)
        }
        order: dict[int, None] = {}
        for i in sorted(kept | spare):
            self._place(i, kept | spare, order)
        texts, cell = [], 0
        for i in order:
            item = self.items[i]
            if item.cell != cell:
                texts.append(f"\n\n# cell {item.cell}\n")
                cell = item.cell
            elif "\n" in item.text:
                texts.append("\n\n")
            texts.append(item.text + "\n")
        return texts

    def _closure(self, needs: Iterable[tuple[str, int | None]]) -> set[int]:
        kept: set[int] = set()
        seen: set[tuple[str, int | None]] = set()
        todo = list(needs)
        while todo:
            need = todo.pop()
            if need in seen:
                continue
            seen.add(need)
            name, before = need
            i = self.last(name, before)
            found = self.changers.get(name, []) + ([] if i is None else [i])
            if i is None and not hasattr(builtins, name):
                found += self.stars
            for i in found:
                if i not in kept:
                    kept.add(i)
                    todo.extend((name, i) for name in self.items[i].now)
                    todo.extend((name, None) for name in self.items[i].later)
        return kept

    def _is_there(self, name: str, kept: set[int]) -> bool:
        return hasattr(builtins, name) or any(i in kept for i in self.binders.get(name, ()))

    def _place(self, first: int, kept: set[int], order: dict[int, None]):
        """Put a statement in order, after the statements that it needs when it runs."""
        todo, open_ = [first], set()
        while todo:
            i = todo[-1]
            if i in order:
                todo.pop()
                continue
            before = {self.last(name, i) for name in self.items[i].now} if i not in open_ else set()
            open_.add(i)
            waiting = sorted(j for j in before if j in kept and j not in order and j not in open_)
            if waiting:
                todo.extend(reversed(waiting))
            else:
                order[i] = None
                todo.pop()
