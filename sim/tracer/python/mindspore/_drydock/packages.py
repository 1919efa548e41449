"""Where the package of a script lies, for what to do when an import of it fails."""
import os
import sys


def folders_above(path):
    """The folder of a file and those above it, innermost first."""
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        yield folder
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def from_here(folder):
    """A folder as a user names it: "." or an absolute path."""
    return os.curdir if os.path.realpath(folder) == os.path.realpath(os.curdir) else folder


def module_of(script):
    """Folder from which a script is a module of its package, and the module's name."""
    above = list(folders_above(script))
    inside = [os.path.isfile(os.path.join(folder, "__init__.py")) for folder in above] + [False]
    root = above[min(max(inside.index(False), 1), len(above) - 1)]  # its own folder is the least of packages
    name = os.path.splitext(os.path.relpath(os.path.abspath(script), root))[0]
    return from_here(root), name.replace(os.sep, ".")


def folder_with(package):
    """Where a package lies that is not found: the current folder, or one above the script; "" if in none."""
    for folder in [os.getcwd()] + list(folders_above(sys.argv[0]))[1:]:
        if os.path.isdir(os.path.join(folder, package)) or os.path.isfile(os.path.join(folder, package + ".py")):
            return from_here(folder)
    return ""
