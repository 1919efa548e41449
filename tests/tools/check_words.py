"""The tree stands alone: no paths of somebody's machine, no hosts of package registries, no references
to what a reader of the tree does not have. Examples that need a home folder write /home/user.
"""

import re
import sys

import source_tree

# One letter in brackets keeps this file from finding itself.
FORBIDDEN = (
    ("path of a machine", re.compile(r"(?<![\w.}])/(?:[w]ork|[r]oot|[h]ome/(?!user/)\w+|[U]sers/\w+)/")),
    ("host of a package registry", re.compile(
        r"\b(?:[p]ypi\.org|[f]iles\.pythonhosted\.org|[r]egistry\.npmjs\.org|[d]eb\.debian\.org|"
        r"[p]roxy\.golang\.org|[c]rates\.io|[g]hcr\.io|[d]ocker\.io|[r]epo\.maven\.apache\.org)\b")),
    ("folder that is not in the tree", re.compile(
        r"(?<!\w)(?:\.\./)*[s]hared/(?:spec|style|vectors|reference|tools|design|hooks)\b")),
    ("document that is not in the tree", re.compile(
        r"\b[s]pec (?:section |operators|compiler-passes|cluster-protocol|robustness|launcher|memory-and-dump|layout-and|tracing-)",
        re.IGNORECASE)),
    ("number of a ticket", re.compile(r"\b[i]ssues? #?\d+\b", re.IGNORECASE)),
)

# Written or collected elsewhere and kept byte for byte.
EXEMPT = ("LICENSE", "tests/vectors/")


def check(root):
    problems = []
    for path in source_tree.files(root):
        text = source_tree.read(root / path)
        if text is None or path.as_posix().startswith(EXEMPT):
            continue
        for what, pattern in FORBIDDEN:
            for match in pattern.finditer(text):
                problems.append(f"{path}:{source_tree.line_of(text, match.start())}: {what}: '{match.group()}'")
    return problems


if __name__ == "__main__":
    sys.exit(source_tree.run(check, sys.argv[1:]))
