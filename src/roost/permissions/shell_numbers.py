"""Whether a calculation of bash is made of numbers and names alone.

Where bash expects a number it evaluates what it gets, and runs what stands in the index of a name:
`[[ 'x[$(rm f)]' -eq 1 ]]`. Values of variables are no matter of this module.
"""

import re
from typing import TYPE_CHECKING, Final

from roost.permissions.shell_words import Word, source_of

if TYPE_CHECKING:
    from tree_sitter import Node

PLAIN: Final = re.compile(r"[\w./:@%+,=~ -]*")
"""A value without code in it."""
_VARIABLES: Final = re.compile(r"\$\{#?\w+(?:\[[\w@*]+\])?\}|\$\w+|\$[#?@*]|\"")
_SUM: Final = re.compile(r"[\w\s+*/%()<>=!&|^~?:;,.\[\]#@-]*")
_SUM_MARKS: Final = re.compile(r"^(?:\$?\(\(|\$\[)")


def plain_value(word: Word) -> bool:
    """Whether `word` is known to hold no code."""
    return word.exact and PLAIN.fullmatch(word.text) is not None


def plain_comparison(node: "Node") -> bool:
    """Whether the operands of a comparison of numbers in `[[ … ]]` hold no code."""
    operator = node.child_by_field_name("operator")
    operands = [child for child in node.named_children if child != operator]
    return all(PLAIN.fullmatch(_without_variables(one)) for one in operands)


def plain_sum(node: "Node") -> bool:
    """The same of `$((…))`, or of `((…))` where `node` is its opening mark."""
    parts = [node]
    if node.type == "((" and node.parent is not None:
        inside = [child for child in node.parent.children if child.start_byte >= node.end_byte]
        ends = [index for index, child in enumerate(inside) if child.type == "))"]
        parts = inside[: ends[0] if ends else None]
    return all(_SUM.fullmatch(_SUM_MARKS.sub("", _without_variables(one))) for one in parts)


def _without_variables(node: "Node") -> str:
    return _VARIABLES.sub("", source_of(node))
