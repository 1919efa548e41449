"""What is decided on an error or a warning is decided on its type, never on its text.

`Error::reason`, `message` and `hint` are printed; `Error::cause`, `TraceWarning::kind` and `DiagnosticKind` are asked. Texts of
another process become types where they are read: the driver's result (sim/tracer/trace_result.cc), a code that our scheduler printed
(launcher/exit_code.cc, CodeNamed).
"""

import re
import sys

import source_tree

FOLDERS = ("base", "strategies", "sim", "reports", "launcher")
READERS = ("sim/tracer/trace_result.cc",)
_CODES = re.compile(r'\{FailureCode::k\w+, "([A-Z0-9_]+)"')
_SEARCH = r"\.\s*(?:starts_with|ends_with|find\w*|contains|compare|substr)\("
# Members of errors and warnings, but for a node's reason for a collective, which is an enumeration.
_PATTERNS = (
    (r"(?:\.|->)(?:reason|message|hint)\s*[!=]=(?!\s*(?:strategies::)?CommReason::)(?!\s*reason\b)", "an error is told apart by its text"),
    (r"[!=]=\s*\w+(?:\.|->)(?:reason|message|hint)\b(?!\w|\()", "an error is told apart by its text"),
    (r"(?:\.|->)(?:reason|message|hint)\s*" + _SEARCH, "an error is told apart by its text"),
    (r"\bCodeOf\((?:[^()]|\([^()]*\))*\)\s*[!=]=", "codes are compared by name; ask FailureCodeOf"),
    (r"\b(?:diagnostic|limit|item|known)(?:\.|->)code\s*[!=]=\s*[\"k]", "a diagnostic is told apart by its name; ask its kind"),
    (r"\bwarning(?:\.text|->text)?\s*" + _SEARCH, "a warning is told apart by its text; ask its kind"),
    (r"[!=]=\s*\"script:[^\"]*\"", "a reason of the driver is read outside of the reader"),
    (_SEARCH + r"\s*\"script:", "a reason of the driver is read outside of the reader"),
)


def check(root):
    codes = _CODES.findall(source_tree.read(root / "launcher/exit_code.cc") or "")
    if not codes:
        return ["launcher/exit_code.cc:1: no code found; has the form of the table changed?"]
    patterns = [(re.compile(pattern), what) for pattern, what in _PATTERNS]
    patterns.append((re.compile(r'[!=]=\s*"(?:%s)"' % "|".join(codes)), "codes are compared by name; ask FailureCodeOf"))
    problems = set()
    for path in source_tree.cpp_files(root, FOLDERS):
        if path.as_posix() in READERS:
            continue
        text = source_tree.without_comments(source_tree.read(root / path) or "")
        for pattern, what in patterns:
            problems.update((path.as_posix(), source_tree.line_of(text, match.start()), what) for match in pattern.finditer(text))
    return ["%s:%d: %s" % problem for problem in sorted(problems)]


if __name__ == "__main__":
    sys.exit(source_tree.run(check, sys.argv[1:]))
