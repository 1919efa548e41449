"""Sizes of files and functions: a warning over the target, a failure over the hard limit.

                       target   hard limit
    source, lines        450        800      data tables (*_table.cc) have none
    header, lines        200        300
    function, lines       40         60      lines of the body; tests may use the hard limit

`--quiet` leaves the warnings out. Functions are found by their braces: a body is a brace at namespace
or class scope behind a parameter list.
"""

import re
import sys
from typing import NamedTuple

import source_tree

SOURCE_LINES = (450, 800)
HEADER_LINES = (200, 300)
FUNCTION_LINES = (40, 60)

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_OPERATOR = re.compile(r"\boperator\s*[^\s\w(]+")
_TEMPLATE = re.compile(r"\btemplate\s*<[^{;]*?>(?=\s*(?:\w|\[\[|::))")
_BODY_STARTS_AFTER = re.compile(r"(?:\)|\b(?:const|noexcept|override|final|mutable|try)|->\s*[\w:<>,\s*&]+)\s*$")


class Function(NamedTuple):
    name: str
    line: int
    lines: int  # of the body, without the lines that hold only its braces


def functions(text):
    """Functions of C++ text, with their body lengths. Lambdas and local classes belong to the function."""
    text = source_tree.without_noise(text)
    text = _DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    found = []
    head_start = 0
    position = 0
    parentheses = 0
    while position < len(text):
        char = text[position]
        if char in "([":
            parentheses += 1
        elif char in ")]":
            parentheses -= 1
        elif parentheses == 0 and char in ";}":
            head_start = position + 1
        elif char == "{":
            head = text[head_start:position]
            if parentheses > 0 or _is_initialiser(head):
                position = _matching(text, position)
            elif _is_function(head):
                end = _matching(text, position)
                found.append(_function(text, head_start, head, position, end))
                position = end
                head_start = end + 1
            else:
                head_start = position + 1
        position += 1
    return found


def _is_initialiser(head):
    """Is `head {` the start of a value (`= {`, `member_{`) and not of a scope or body?"""
    plain = _OPERATOR.sub("operator", _TEMPLATE.sub("", head))
    if "=" in re.sub(r"\([^()]*\)", "", plain):
        return True
    if _SCOPE.search(plain) and "(" not in plain:
        return False
    if "(" not in plain:
        return True  # int value{0};
    # Foo::Foo(int a) : a_{a} {}: the brace of a_ follows a name, the body's does not.
    return re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", plain) is not None and \
        re.search(r"[\w>]\s*$", plain) is not None and not _BODY_STARTS_AFTER.search(plain)


def _is_function(head):
    plain = _TEMPLATE.sub("", head)
    return "(" in plain and not re.match(r"\s*(?:extern|namespace|enum)\b", plain)


def _function(text, head_start, head, opening, closing):
    stripped = len(head) - len(head.lstrip())
    name = re.search(r"([\w:~]+|operator\s*\S+?)\s*\(", head)
    body = text[opening + 1:closing]
    return Function(name=name.group(1) if name else "?",
                    line=source_tree.line_of(text, head_start + stripped),
                    lines=max(0, body.count("\n") - 1))


def _matching(text, opening):
    depth = 0
    for position in range(opening, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return len(text) - 1


def measure(root):
    """(path, line, what, lines, target, hard limit) of everything that has a size."""
    for path in source_tree.files(root, (".cc", ".h", ".py"), source_tree.CODE_FOLDERS):
        text = source_tree.read(root / path)
        if text is None:
            continue
        target, hard = HEADER_LINES if path.suffix == ".h" else SOURCE_LINES
        if not path.stem.endswith("_table"):
            yield path, 1, "the file", text.count("\n"), target, hard
        if path.suffix == ".py":
            continue
        target, hard = FUNCTION_LINES
        if path.parts[0] == "tests":
            target = hard
        for function in functions(text):
            yield path, function.line, f"'{function.name}'", function.lines, target, hard


def check(root, warn=lambda text: None):
    problems = []
    for path, line, what, lines, target, hard in measure(root):
        if lines > hard:
            problems.append(f"{path}:{line}: {what} has {lines} lines, the limit is {hard}")
        elif lines > target:
            warn(f"{path}:{line}: warning: {what} has {lines} lines, aim for {target}")
    return problems


def main(arguments):
    quiet = "--quiet" in arguments
    rest = [word for word in arguments if word != "--quiet"]
    return source_tree.run(lambda root: check(root, (lambda text: None) if quiet else print), rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
