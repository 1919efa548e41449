"""A name without linkage means one thing in a folder.

What two sources of a folder each call `kMostRounds`, `Row` or `ProductOf(double, double)` in their unnamed namespaces is
one thing, which belongs in one place, or two, which want two names. Besides, such files could not be compiled together
(DRYDOCK_UNITY). Functions that differ in their parameters may share a name. Nor is such a name that of a type in a header
of base or of the folder.
"""

import collections
import pathlib
import re
import sys

import source_tree

FOLDERS = ("base", "strategies", "sim", "reports", "launcher")

_TYPE = re.compile(r"(?:class|struct|enum class|union)\s+(\w+)\s*(?:final\s*)?(?::[^;]*)?\{?$|using (\w+ = .*)")
_CONSTANT = re.compile(r"(?:inline |static )?constexpr\b.*?\b(k[A-Z]\w*)\s*(?:\[[^\]]*\]\s*)?(?:=|\{|$)")
_FUNCTION = re.compile(r"(?!return\b|using\b|DRYDOCK_|static_assert)[\w:<>,*& \[\]]*?\b(\w+)\((.*)", re.DOTALL)


def unnamed(text):
    """(line, declaration) at the outermost level of the unnamed namespaces of a source."""
    inside = False
    lines = source_tree.without_comments(text).split("\n")
    for number, (line, written) in enumerate(zip(lines, text.split("\n")), 1):
        if line.startswith("namespace {"):
            inside = True
        elif written == "}  // namespace":
            inside = False
        elif inside and line and line[0] not in " }#":
            yield number, " ".join(lines[number - 1:number + 3])


def names(text):
    """{name with the parameters of a function: line}."""
    found = {}
    for line, declaration in unnamed(text):
        head = declaration.split(";")[0].split("{")[0].strip()
        type_name = _TYPE.match(head)
        constant = _CONSTANT.match(declaration)
        function = _FUNCTION.match(head)
        if type_name:
            found[type_name.group(1) or type_name.group(2)] = line
        elif constant:
            found[constant.group(1)] = line
        elif function:
            found["%s(%s" % (function.group(1), re.sub(r"\s+|\b\w+(?=[,)])", "", function.group(2)))] = line
    return found


def types(text):
    """Types that a header declares in its namespace."""
    found = set()
    for line in source_tree.without_comments(text).split("\n"):
        match = _TYPE.match(line)
        if match and not line.endswith(";") or match and match.group(2):
            found.add((match.group(1) or match.group(2)).split(" = ")[0])
    return found


def check(root):
    places = collections.defaultdict(list)
    declared = collections.defaultdict(dict)
    for path in source_tree.cpp_files(root, FOLDERS):
        if path.suffix == ".h":
            for name in types(source_tree.read(root / path) or ""):
                declared[path.parent][name] = (path, 1)
    for path in source_tree.cpp_files(root, FOLDERS):
        if path.suffix == ".cc":
            for name, line in names(source_tree.read(root / path) or "").items():
                places[path.parent, name].append((path, line))
                for folder in (path.parent, pathlib.PurePosixPath("base")):
                    header = declared[folder].get(re.split(r"\(| = ", name)[0])
                    if header and " = " not in name:
                        places[path.parent, name].insert(0, header)
    alias = {}
    for (folder, name), found in places.items():
        if " = " in name:  # The same alias in many files is one thing; another one of that name is not.
            alias.setdefault((folder, name.split(" = ")[0]), []).append(found[0])
    places = {key: found for key, found in places.items() if " = " not in key[1]} | alias
    return ["%s:%d: '%s' is a name in %s:%d, too; one thing in one place, or two names" % (*found[1], name, *found[0])
            for (_, name), found in sorted(places.items()) if len(found) > 1]


if __name__ == "__main__":
    sys.exit(source_tree.run(check, sys.argv[1:]))
