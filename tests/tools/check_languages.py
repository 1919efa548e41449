#!/usr/bin/env python3
"""Pages in another language (docs/zh/) are kept in step with those they translate.

A translation has the sections of its original, in the same order of levels, and exactly its blocks of code: what is typed and what
is printed is the same in every language. A page that gains or loses a section, or whose output changes, fails here until its
translation follows.
"""

import re
import sys
from pathlib import Path

PAGES = {"README.md": "docs/zh/README.md", "docs/errors.md": "docs/zh/errors.md"}
FENCE = re.compile(r"^```.*?^```$", re.S | re.M)


def outline(text):
    """(levels of the headings, blocks of code) of a page."""
    return re.findall(r"^#+", FENCE.sub("", text), re.M), FENCE.findall(text)


def check(root):
    """Lines that say what is out of step."""
    for original, translation in PAGES.items():
        if not (root / translation).exists():
            yield "%s:1: missing: the translation of %s" % (translation, original)
            continue
        headings, blocks = outline((root / original).read_text())
        other_headings, other_blocks = outline((root / translation).read_text())
        if headings != other_headings:
            yield "%s:1: %d sections, %s has %d" % (translation, len(other_headings), original, len(headings))
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
