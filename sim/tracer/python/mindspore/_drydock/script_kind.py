"""What a file is that was given as a script: of Python or not, told by its ending, its first line, its first bytes; and of which framework."""
import os
import re
import sys

_CONFIGURATION = "this is a configuration: give the Python script that reads it, and the file as its argument"
_SHELL = "this is a shell script: give msrun the Python script that it starts"
_NOTEBOOK = "save the notebook as a script (jupyter nbconvert --to script)"
_DATA = "these are data: give the Python script that reads them"
_TEXT = "this is a text: give the path of a Python script"
_BY_ENDING = {
    ".ipynb": "this is a notebook: save it as a script (jupyter nbconvert --to script)",
    ".yaml": _CONFIGURATION, ".yml": _CONFIGURATION, ".toml": _CONFIGURATION, ".ini": _CONFIGURATION, ".cfg": _CONFIGURATION,
    ".json": "a graph document needs no interpreter: msrun --sim_level=1 net.json; a configuration is an argument of the script that reads it",
    ".conf": _CONFIGURATION, ".csv": _DATA, ".tsv": _DATA, ".npy": _DATA, ".npz": _DATA, ".pkl": _DATA, ".ckpt": _DATA, ".safetensors": _DATA,
    ".mindrecord": _DATA, ".sh": _SHELL, ".bash": _SHELL, ".md": _TEXT, ".rst": _TEXT, ".txt": _TEXT,
}
_SHELLS = re.compile(rb"^#!\s*\S*(?:/|\benv\s+)(?:ba|z|k|da|c|tc|fi)?sh\b")
_UNFINISHED = re.compile(r"partially initialized module '([^']+)'")
_OTHER_FRAMEWORKS = re.compile(rb"^\s*(?:import|from)\s+(torch|paddle|tensorflow|jax)\b", re.MULTILINE)
_MAGIC = re.compile(r"^\s*(?:%%?[a-z]|![a-z.])")  # %matplotlib, !pip


def hidden_module(error):
    """Name of the module of Python's own that a file of the script's folder stands before; "" if none does."""
    found = _UNFINISHED.search(str(error))
    own = getattr(sys, "stdlib_module_names", ())
    name = found.group(1).partition(".")[0] if found else ""
    if name not in own:
        return ""
    hiding = [file[:-3] for file in sorted(os.listdir(os.path.dirname(os.path.abspath(sys.argv[0]))))
              if file.endswith(".py") and file[:-3] in own]
    return name if name in hiding else hiding[0] if hiding else ""


def hint(path, error):
    """What to give instead; "" for files that may be scripts. `error` is what Python said of it."""
    found = _BY_ENDING.get(os.path.splitext(path)[1].lower(), "")
    if found:
        return found
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return ""
    if head[:4] == b"\x7fELF" or b"\0" in head:
        return "this is a program or other binary file: give the path of a Python script"
    if _SHELLS.match(head):
        return _SHELL
    if isinstance(error, SyntaxError) and error.text and _MAGIC.match(error.text):
        return "'%s' is a command of notebooks: leave it out of the script, or %s" % (error.text.split()[0], _NOTEBOOK)
    return ""


def other_framework(script):
    """Name of the framework that a script uses instead of mindspore; "" if it uses mindspore or none."""
    folders = (os.path.dirname(os.path.abspath(script)) + os.sep, os.getcwd() + os.sep)
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
    found = ""
    for path in [script] + [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]:
        real = os.path.abspath(path) if path else ""
        if not real.startswith(folders) or real.startswith(here) or not os.path.isfile(real):
            continue
        with open(real, "rb") as file:
            source = file.read()
        if b"mindspore" in source:
            return ""
        match = _OTHER_FRAMEWORKS.search(source)
        found = found or (match.group(1).decode() if match else "")
    return found
