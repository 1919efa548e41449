#!/usr/bin/env python3
"""Pages in another language (docs/zh/) are kept in step with those they translate.

A translation has the sections of its original, in the same order of levels, as many rows of tables, and exactly its blocks of code:
what is typed and what is printed is the same in every language. A page that gains or loses a section or a row, or whose output
changes, fails here until its translation follows.
"""

import re
import sys
from pathlib import Path

PAGES = {"README.md": "docs/zh/README.md", "docs/errors.md": "docs/zh/errors.md", "docs/launching.md": "docs/zh/launching.md",
         "docs/reports.md": "docs/zh/reports.md"}
# Between fences, or indented behind an empty line.
CODE = re.compile(r"^```.*?^```$|(?:(?<=\n\n)(?: {4}[^\n]*\n)(?:(?: {4}[^\n]*)?\n)*(?=\S))", re.S | re.M)
# Tables of fields, which are written by a program, stand behind this line and in English only.
GENERATED = "<!-- fields: "


def outline(text):
    """(levels of the headings, blocks of code, rows of tables) of what a person wrote of a page."""
    text = text.split(GENERATED)[0]
    prose = CODE.sub("", text)
    return re.findall(r"^#+", prose, re.M), [block.rstrip() for block in CODE.findall(text)], len(re.findall(r"^\|", prose, re.M))


def check(root):
    """Lines that say what is out of step."""
    for original, translation in PAGES.items():
        if not (root / translation).exists():
            yield "%s:1: missing: the translation of %s" % (translation, original)
            continue
        headings, blocks, rows = outline((root / original).read_text())
        other_headings, other_blocks, other_rows = outline((root / translation).read_text())
        if headings != other_headings:
            yield "%s:1: %d sections, %s has %d" % (translation, len(other_headings), original, len(headings))
        if rows != other_rows:
            yield "%s:1: %d rows of tables, %s has %d" % (translation, other_rows, original, rows)
        for index, block in enumerate(blocks):
            if index >= len(other_blocks) or other_blocks[index] != block:
                yield "%s:1: block of code %d is not that of %s: %s" % (
                    translation, index + 1, original, block.split("\n")[1] if "\n" in block else block)
                break


def main():
    faults = list(check(Path(__file__).resolve().parents[2]))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
