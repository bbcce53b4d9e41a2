"""
Pieces of HTML: text is escaped on its way in, so that nothing a student wrote is ever markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """Text that is markup already."""


def show(value: object) -> Html:
    """The value as markup."""
    text = value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else \
        f"{value:.4g}" if isinstance(value, float) else str(value)
    if isinstance(value, Html):
        return value
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text.encode(
        "utf-8", "replace").decode("utf-8"))
    return Html(f"<bdi>{escape(clean)}</bdi>" if not clean.isascii() else escape(clean))


def element(tag: str, *content: object, **attributes: object) -> Html:
    """One element; an attribute's trailing or inner _ stands for nothing or -."""
    names = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    shown = "".join(f' {name}="{escape(str(value))}"' for name, value in names.items())
    return Html(f"<{tag}{shown}>{''.join(map(show, content))}</{tag}>")


def section(title: str, *content: object) -> Html:
    """A part of the page under a heading that names it."""
    name = "".join(c if c.isalnum() else "-" for c in title.lower())
    return element("section", element("h2", title, id=name), *content, aria_labelledby=name)


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]],
          texts: Sequence[int] = (0,)) -> Html:
    """A table whose first column heads its rows; all columns but `texts` hold numbers."""
    def cell(tag: str, i: int, value: object, scope: str = "") -> Html:
        aligned = {} if i in texts else {"class": "number"}
        return element(tag, value, **({"scope": scope} if scope else {}), **aligned)

    head = element("tr", *(cell("th", i, h, "col") for i, h in enumerate(heads)))
    body = [element("tr", *(cell("td", i, v) if i else cell("th", i, v, "row")
                            for i, v in enumerate(row))) for row in rows]
    whole = element("table", element("caption", caption), element("thead", head),
                    element("tbody", *body))
    return element("div", whole, class_="scroll", role="region", tabindex=0, aria_label=caption)


def bar(share: float, text: str) -> Html:
    """A share as a number and, for the eye, a bar."""
    drawn = Html(f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" '
                 f'aria-hidden="true"><rect class="back" width="100" height="10"/>'
                 f'<rect width="{100 * share:.1f}" height="10"/></svg>')
    return Html(f"{drawn}{show(text)}")


def columns(title: str, counts: Sequence[int], edges: Sequence[str]) -> Html:
    """Counts as columns between edges; the table beside it says the same in words."""
    most, wide = max(counts) or 1, 600 / len(counts)
    parts = []
    for i, number in enumerate(counts):
        tall, x = 150 * number / most, 20 + i * wide
        parts.append(f'<rect x="{x + 3:.1f}" y="{185 - tall:.1f}" width="{wide - 6:.1f}" '
                     f'height="{tall:.1f}"/>'
                     f'<text x="{x + wide / 2:.1f}" y="{178 - tall:.1f}">{show(number)}</text>')
    parts += [f'<text x="{20 + i * wide:.1f}" y="212">{show(edge)}</text>'
              for i, edge in enumerate(edges)]
    return Html(f'<svg class="columns" viewBox="0 0 640 220" role="img" '
                f'aria-label="{escape(title)}"><title>{escape(title)}</title>'
                f'<path d="M0 185H640"/>{"".join(parts)}</svg>')
