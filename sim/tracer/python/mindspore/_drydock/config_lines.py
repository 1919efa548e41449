"""Where a configuration says what a script complains of: its file and line, or the argument that overrides it.

A script that reads `run.py --config job.yaml` raises `ValueError: dp*mp*pp = 4 != device_num(8), see model_parallel` at a line of its own; what is
to be changed stands in job.yaml. Looked at only when a script has failed.
"""
import os
import re

_ENDINGS = (".yaml", ".yml", ".json", ".toml")
_MOST_BYTES = 1 << 20
_MOST_NOTES = 4
_PATH = re.compile(r"(?<![\w.])/[\w.+@-]+(?:/[\w.+@-]+)*")
_KEY = re.compile(r"[A-Za-z]\w*_\w+")  # names of settings; plain words say too little


def paths_in(message):
    """Absolute paths that a message names."""
    return [path.rstrip(".") for path in _PATH.findall(message)]


def notes(message, arguments):
    """Lines of the configurations among the arguments of a script that have the paths or the settings that a message names."""
    files = [(name, lines) for name, lines in ((name, _lines(name)) for name in _files(arguments)) if lines]
    wanted = [re.compile(re.escape(path) + r"(?![\w/])") for path in paths_in(message) if not os.path.exists(path)]
    found = [note for pattern in wanted for note in _places(files, pattern)]
    if not found:
        for key in dict.fromkeys(_KEY.findall(message)):
            given = _argument(key, arguments)
            found += [given] if given else _places(files, re.compile(r"^\s*[\"']?%s[\"']?\s*[:=]" % re.escape(key)))
    return list(dict.fromkeys(found))[:_MOST_NOTES]


def _files(arguments):
    return dict.fromkeys(part for argument in arguments for part in (argument, argument.rpartition("=")[2])
                         if part.endswith(_ENDINGS) and os.path.isfile(part))


def _lines(name):
    try:
        if os.path.getsize(name) > _MOST_BYTES:
            return []
        with open(name, "rb") as file:
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _places(files, pattern):
    """The first line of each file that has it."""
    found = []
    for name, lines in files:
        for number, line in enumerate(lines, 1):
            if pattern.search(line):
                found.append("the configuration says so at %s:%d: %s" % (name, number, line.strip()[:120]))
                break
    return found


def _argument(key, arguments):
    """An argument `--part.key VALUE` or `part.key=VALUE`, as it was given."""
    for at, argument in enumerate(arguments):
        name, sign, _ = argument.partition("=")
        if name.lstrip("-").rpartition(".")[2] == key and (sign or name.startswith("-")):
            value = "" if sign or at + 1 == len(arguments) else " " + arguments[at + 1]
            return "an argument says so: %s%s" % (argument, value)
    return ""
