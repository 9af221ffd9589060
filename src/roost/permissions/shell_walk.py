"""The simple commands of a shell command line, each with the folders it may run in.

A command line is walked in the order bash runs it. After `cd x && …` the folder is `x`; after
`cd x; …` it may also be the old one if there is no `x`; a `cd` in a subshell ends with it. Where it
cannot be told, it is unknown.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.permissions.shell_folders import After, folders_after_cd, union
from roost.permissions.shell_numbers import PLAIN, plain_comparison, plain_sum, plain_value
from roost.permissions.shell_words import (
    Assignment,
    Folders,
    Redirect,
    Simple,
    Word,
    plain_word,
    source_of,
    to_word,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_EXPANSION: Final = re.compile(
    r"\$\{#?[A-Za-z_]\w*\}|\$\{[@*#?$!0-9]\}"
    r"|\$\{\w+(?::?[-+?]|##?|%%?|//?|\^\^?|,,?)[^`]*\}",
    re.DOTALL,
)
_SLICE: Final = re.compile(r"\$\{\w+:[\w $:-]*\}")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\[[\w@*]+\])?")
_COMPARING: Final = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
_READS_VALUE: Final = {"read", "mapfile", "readarray", "getopts", "let"}
_CHANGES_FOLDER: Final = {"eval", "source", ".", "pushd", "popd", "builtin", "exec"}
_NO_STATEMENT: Final = {"comment", "file_redirect"}
_OPENS: Final = {
    "<": False,
    "<&": False,
    ">": True,
    ">>": True,
    ">&": True,
    ">|": True,
    "&>": True,
    "&>>": True,
}


class Walk:
    """One pass over a tree."""

    def __init__(self, home: str | None, doubt: str, is_folder: Callable[[str], bool]) -> None:
        self.home = home
        self.is_folder = is_folder
        self.commands: list[Simple] = []
        self.redirects: list[Redirect] = []
        self.doubts = [doubt] if doubt else []
        self.functions: set[str] = set()
        self.calculates = False
        """Something is evaluated as arithmetic, which runs code that hides in a value."""
        self.sets_unplain = False
        """A variable gets a value that could hide such code."""

    @property
    def doubt(self) -> str:
        if self.calculates and self.sets_unplain:
            self.doubts.append("it calculates with a value that could hold code")
        return self.doubts[0] if self.doubts else ""

    def visit(self, node: "Node", folders: Folders) -> After:
        """Walk a statement that starts in `folders`."""
        match node.type:
            case "program" | "compound_statement" | "do_group" | "else_clause" | "ERROR":
                return self._sequence(node, folders)
            case "list":
                return self._list(node, folders)
            case "pipeline":
                return self._pipeline(node, folders)
            case "negated_command":
                after = self._sequence(node, folders)
                return After(after.failure, after.success)
            case "subshell" | "command_substitution" | "process_substitution":
                self._sequence(node, folders)
                return After(folders, folders)
            case "command" | "declaration_command" | "unset_command":
                return self._command(node, folders)
            case "variable_assignment" | "variable_assignments":
                self._assign_alone(node, folders)
                return After(folders, folders)
            case "redirected_statement":
                return self._redirected(node, folders)
            case "test_command":
                if node.children[0].type == "[":
                    self._check_words_of_test(node)
                self._scan(node, folders)
                return After(folders, folders)
            case "if_statement" | "elif_clause" | "case_statement" | "case_item":
                return self._branches(node, folders)
            case "while_statement" | "for_statement" | "c_style_for_statement":
                return self._loop(node, folders)
            case "function_definition":
                return self._function(node, folders)
            case _:
                self._scan(node, folders)
                return After(folders, folders)

    def _sequence(self, node: "Node", folders: Folders) -> After:
        if any(child.type == "((" for child in node.children[:1]):
            self._scan(node, folders)
            return After(folders, folders)
        after = After(folders, folders)
        for child in node.children:
            before = after.either
            if not child.is_named or child.type in _NO_STATEMENT:
                continue
            after = self.visit(child, before)
            following = child.next_sibling
            if following is not None and following.type == "&":
                after = After(before, before)
        return after

    def _list(self, node: "Node", folders: Folders) -> After:
        parts = [child for child in node.children if child.type != "comment"]
        if len(parts) != 3 or parts[1].type not in {"&&", "||"}:
            self.doubts.append("a list of commands is not understood")
            return self._sequence(node, folders)
        left = self.visit(parts[0], folders)
        if parts[1].type == "&&":
            right = self.visit(parts[2], left.success)
            return After(right.success, union(left.failure, right.failure))
        right = self.visit(parts[2], left.failure)
        return After(union(left.success, right.success), right.failure)

    def _pipeline(self, node: "Node", folders: Folders) -> After:
        feeder: int | None = None
        reached = folders
        for child in node.children:
            if child.type in {"|", "|&", "comment"}:
                continue
            first = len(self.commands)
            self.visit(child, reached)
            reached = union(reached, self._reached(child, first))
            # Only of a stage that is a single command it is certain who reads and writes.
            single = len(self.commands) == first + 1
            if single and feeder is not None:
                fed = self.commands[first]
                self.commands[first] = Simple(fed.words, fed.assignments, fed.folders, feeder)
            feeder = first if single else None
        return After(reached, reached)

    def _reached(self, node: "Node", first: int) -> Folders:
        """All folders of the commands since `first`, where the tree takes too much for one.

        It binds `a && b < f | c` and `a && b <<E` as if the list stood in braces, so what follows
        may run wherever any of it runs.
        """
        while node.type == "redirected_statement":
            node = node.named_children[0]
        if node.type not in {"list", "pipeline"}:
            return frozenset()
        reached: Folders = frozenset()
        for command in self.commands[first:]:
            reached = union(reached, command.folders)
        return reached

    def _redirected(self, node: "Node", folders: Folders) -> After:
        after, opened = After(folders, folders), folders
        first = len(self.commands)
        for child in node.children:
            if child.type == "file_redirect":
                self._redirect(child, opened)
            elif child.type == "heredoc_redirect":
                after = self._heredoc(child, opened, after)
            elif child.type == "herestring_redirect":
                self._scan(child, opened)
            else:
                after = self.visit(child, folders)
                opened = self._opening(child, folders, first)
        return after

    def _opening(self, body: "Node", folders: Folders, first: int) -> Folders:
        """Where a redirection behind `body` opens its file: `cd a && b > f` opens it for `b`."""
        last = body
        while last.type in {"list", "redirected_statement"}:
            last = last.named_children[-1 if last.type == "list" else 0]
        if last is not body and last.type == "command":
            return self.commands[-1].folders
        return union(folders, self._reached(body, first))

    def _heredoc(self, node: "Node", folders: Folders, after: After) -> After:
        """What stands behind `<<EOF` on its line belongs to the command in front of it."""
        for child in node.children:
            if child.type == "file_redirect":
                self._redirect(child, folders)
            elif child.type in {"heredoc_body", "herestring_redirect"}:
                self._scan(child, folders)
            elif child.type in {"pipeline", "command", "redirected_statement", "list", "subshell"}:
                inner = self.visit(child, after.either).either
                after = After(union(after.either, inner), union(after.either, inner))
            elif child.type not in {"<<", "<<-", "heredoc_start", "heredoc_end", "&&", "||"}:
                self.doubts.append("what follows a heredoc is not understood")
        return after

    def _redirect(self, node: "Node", folders: Folders) -> None:
        targets = node.children_by_field_name("destination")
        operator = next((c.type for c in node.children if c.type in _OPENS), None)
        self._scan_children(node, folders)
        if any(child.type in {">&-", "<&-"} for child in node.children):
            return
        if operator is None or len(targets) != 1:
            self.doubts.append("a redirection is not understood")
            return
        target = to_word(targets[0], self.home)
        if operator in {">&", "<&"} and re.fullmatch(r"\d+-?|-", target.text):
            return
        self.redirects.append(Redirect(target, _OPENS[operator], folders))

    def _branches(self, node: "Node", folders: Folders) -> After:
        """Any of the parts may run, after any of those before it."""
        reached = folders
        for child in node.children:
            if child.is_named and child.type not in _NO_STATEMENT:
                reached = union(reached, self.visit(child, reached).either)
        return After(reached, reached)

    def _loop(self, node: "Node", folders: Folders) -> After:
        name = node.child_by_field_name("variable")
        if name is not None:
            values = [to_word(c, self.home) for c in node.children_by_field_name("value")]
            for value in values or [to_word(node, self.home)]:
                self._note(Assignment(source_of(name), value))
            self.commands.append(
                Simple((), tuple(Assignment(source_of(name), v) for v in values), folders)
            )
        if node.type == "c_style_for_statement":
            self.calculates = True
        reached = self._branches(node, folders).either
        if reached != folders:
            self.doubts.append("it changes the folder in a loop")
        return After(reached, reached)

    def _function(self, node: "Node", folders: Folders) -> After:
        name = node.child_by_field_name("name")
        self.functions.add(source_of(name) if name is not None else "")
        self.sets_unplain = True
        reached = self._branches(node, folders).either
        if reached != folders:
            self.doubts.append("it changes the folder in a function")
        return After(folders, folders)

    def _assign_alone(self, node: "Node", folders: Folders) -> None:
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        found = tuple(self._assignment(child, folders) for child in nodes)
        self.commands.append(Simple((), found, folders))

    def _assignment(self, node: "Node", folders: Folders) -> Assignment:
        self._scan_children(node, folders)
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        word = to_word(value, self.home) if value is not None else plain_word("")
        assignment = Assignment(source_of(name) if name is not None else "", word)
        if not _NAME.fullmatch(assignment.name):
            self.doubts.append("an assignment is not understood")
        self._note(assignment)
        return assignment

    def _note(self, assignment: Assignment) -> None:
        self.sets_unplain = self.sets_unplain or not plain_value(assignment.value)

    def _command(self, node: "Node", folders: Folders) -> After:
        words: list[Word] = []
        assignments: list[Assignment] = []
        before: Node | None = None
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, folders))
                if words:
                    words.append(plain_word(source_of(child)))
            elif child.type == "file_redirect":
                self._redirect(child, folders)
            elif child.type == "herestring_redirect":
                self._scan(child, folders)
            else:
                self._check_gap(before, child)
                self._scan(child, folders)
                words.append(to_word(child, self.home))
                before = child
        if node.type == "declaration_command" and len(words) > len(assignments) + 1:
            self._note_quoted(words)
        self.commands.append(Simple(tuple(words), tuple(assignments), folders))
        return self._folders_after(words, folders)

    def _note_quoted(self, words: list[Word]) -> None:
        """`declare "x=…"` assigns too, although it does not look like it."""
        for word in words[1:]:
            _, equals, value = word.text.partition("=")
            if equals or not word.exact:
                plain = word.exact and PLAIN.fullmatch(value) is not None
                self.sets_unplain = self.sets_unplain or not plain

    def _check_gap(self, before: "Node | None", child: "Node") -> None:
        """Two words of one command have a blank between them, and no bare newline."""
        if before is None or before.parent is None:
            return
        whole, base = before.parent.text or b"", before.parent.start_byte
        gap = whole[before.end_byte - base : child.start_byte - base]
        if not gap or b"\n" in gap.replace(b"\\\n", b""):
            self.doubts.append("where a word ends is not understood")

    def _folders_after(self, words: list[Word], folders: Folders) -> After:
        name = words[0] if words else plain_word("")
        stores = name.text == "printf" and any(w.text.startswith("-v") for w in words)
        self.sets_unplain = self.sets_unplain or stores or name.text in _READS_VALUE
        self.calculates = self.calculates or name.text == "let"
        moves = name.text in _CHANGES_FOLDER or name.text in self.functions or not name.exact
        if moves or (name.text == "command" and any(w.text == "cd" for w in words)):
            return After(None, None)
        if name.text == "cd":
            there = folders_after_cd(words, folders, self.home)
            sure = there is not None and all(map(self.is_folder, there))
            return After(there, there if sure else folders)
        return After(folders, folders)

    def _scan_children(self, node: "Node", folders: Folders) -> None:
        for child in node.children:
            self._scan(child, folders)

    def _scan(self, node: "Node", folders: Folders) -> None:
        """Find what runs inside a word or an expression."""
        match node.type:
            case "command_substitution" | "process_substitution":
                self._substitution(node, folders)
                return
            case "expansion" | "simple_expansion" | "subscript" | "array":
                self._expansion(node)
            case "arithmetic_expansion" | "((":
                self._calculation(node)
            case "unary_expression" | "binary_expression":
                self._test(node)
            case "command" | "pipeline" | "list" | "ERROR":
                self.doubts.append("a command stands where none is expected")
            case _:
                pass
        self._scan_children(node, folders)

    def _substitution(self, node: "Node", folders: Folders) -> None:
        for child in node.children:
            if child.type == "file_redirect":
                self._redirect(child, folders)
        self.visit(node, folders)

    def _expansion(self, node: "Node") -> None:
        source = source_of(node)
        if node.type == "subscript" or _SLICE.fullmatch(source):
            self.calculates = True
        elif node.type == "array":
            self.sets_unplain = True
            self.calculates = self.calculates or "[" in source
        elif node.type == "expansion" and not _EXPANSION.fullmatch(source):
            self.doubts.append("an expansion is not understood")

    def _calculation(self, node: "Node") -> None:
        """Texts and what commands print may hold code, also where no variable is involved."""
        self.calculates = True
        self.sets_unplain = self.sets_unplain or not plain_sum(node)

    def _check_words_of_test(self, node: "Node") -> None:
        """In `[ … ]` a bare expansion may become `-v name`, which runs code in the name's index."""
        for child in node.named_children:
            if child.type == "command_substitution":
                self.doubts.append("a test reads what a command prints")
            elif child.type in {"simple_expansion", "expansion"}:
                self.calculates = True
            elif child.type.endswith("_expression") or child.type == "concatenation":
                self._check_words_of_test(child)

    def _test(self, node: "Node") -> None:
        operator = node.child_by_field_name("operator")
        written = source_of(operator) if operator is not None else ""
        if written in _COMPARING:
            self.calculates = True
            self.sets_unplain = self.sets_unplain or not plain_comparison(node)
        elif written in {"-v", "-R"}:
            self.doubts.append("a test reads a variable by its name")
