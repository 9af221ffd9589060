"""HTML as Markdown or plain text, without what is not meant to be read.

Pages come from strangers, so everything here takes time in proportion to the page: a tokenizer of
our own first removes scripts and whatever is malformed, and only a small clean rest is handed to
the slower converter.
"""

import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import urljoin

# Atomic groups, not possessive ones: before Python 3.11.5 a group with `++` matches too little.
_TOKEN: Final = re.compile(
    r"<!--"
    r"|<(?:/?[a-zA-Z]|[!?])(?>(?:[^<>\"']++|\"[^\"]{0,8192}+\"|'[^']{0,8192}+'){0,64})>"
    r"|<(?:/?[a-zA-Z]|[!?])[^<>]*+>"
    r"|(?>(?:[^<]++|<(?!/?[a-zA-Z]|[!?]))+)"
    r"|<"
)
_NAME: Final = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*)")
_UNREAD: Final = {
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "math",
}  # fmt: skip
_RAW: Final = {"script", "style"}
"""Without its end tag such an element goes to the end of the page."""
_BLOCKS: Final = {
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
    "li", "main", "nav", "ol", "option", "p", "pre", "section", "table", "td", "th", "title",
    "tr", "ul",
}  # fmt: skip
_MAX_TAGS: Final = 30_000
"""A page with more is given as plain text: the converter needs some 35 µs for a tag."""


class _Token(NamedTuple):
    text: str
    tag: str
    """Lower-case name of the element for a tag, else empty."""


def to_markdown(page: str, base: str) -> str:
    """`page` as Markdown with links made absolute from the address `base`.

    A page that is too big or too deeply nested for that comes as plain text.
    """
    tokens = list(_tokens(page))
    if len(tokens) > 2 * _MAX_TAGS:
        return _text(tokens)
    try:
        return _converted("".join(token.text for token in tokens), base)
    except RecursionError:
        return _text(tokens)


def to_text(page: str) -> str:
    """The words of `page`, a line for each block."""
    return _text(_tokens(page))


def _tokens(page: str) -> Iterator[_Token]:
    """Tags and text in order, without comments and the elements that nobody reads."""
    lower = page.lower()
    if len(lower) != len(page):
        lower = page  # a letter whose small form is longer: then only small names are found
    unclosed: set[str] = set()
    position = 0
    while match := _TOKEN.match(page, position):
        text = match[0]
        position = match.end()
        if text == "<!--":
            position = _behind(page, "-->", position)
            continue
        named = _NAME.match(text)
        if named is None:
            if not text.startswith(("<!", "<?")):
                yield _Token(text.replace("<", "&lt;"), "")
            continue
        tag = named[1].lower()
        if tag not in _UNREAD:
            yield _Token(text, tag)
        elif text[1] != "/" and not text.endswith("/>") and tag not in unclosed:
            closing = lower.find(f"</{tag}", position)
            if closing >= 0:
                position = _behind(page, ">", closing)
            elif tag in _RAW:
                return
            else:
                unclosed.add(tag)


def _behind(page: str, end: str, position: int) -> int:
    found = page.find(end, position)
    return len(page) if found < 0 else found + len(end)


def _text(tokens: Iterator[_Token] | list[_Token]) -> str:
    pieces: list[str] = []
    verbatim = 0
    for token in tokens:
        if token.tag == "pre":
            verbatim += -1 if token.text.startswith("</") else 1
        if token.tag in _BLOCKS:
            pieces.append("\n")
        elif not token.tag:
            text = html.unescape(token.text)
            pieces.append(text if verbatim > 0 else re.sub(r"\s+", " ", text))
    lines = (line.rstrip() for line in "".join(pieces).split("\n"))
    return _spaced("\n".join(line if line[:2] == "  " else line.lstrip() for line in lines))


def _spaced(text: str) -> str:
    """`text` with at most one empty line in a row."""
    return re.sub(r"\n\s*\n\s*\n+", "\n\n", text).strip() + "\n"


def _converted(page: str, base: str) -> str:
    from bs4 import BeautifulSoup
    from markdownify import ATX, MarkdownConverter

    soup = BeautifulSoup(page, "html.parser")
    for link in soup.find_all(["a", "img"]):
        attribute = "href" if link.name == "a" else "src"
        target = link.get(attribute)
        if not isinstance(target, str):
            continue
        if target.startswith(("data:", "javascript:")):
            del link[attribute]
        else:
            link[attribute] = urljoin(base, target)
    converter = MarkdownConverter(
        heading_style=ATX, bullets="-", escape_underscores=False, escape_asterisks=False
    )
    return _spaced(converter.convert_soup(soup))
