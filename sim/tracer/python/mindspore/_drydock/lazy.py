"""Names that the stand-in does not have: what MindSpore has can be imported and not used, anything else is an error."""
import importlib
import importlib.machinery
import os
import sys
import types

from mindspore._drydock.errors import Unsupported


class Stub:
    """Stands for an unknown name; calling it raises Unsupported with the full dotted name."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __call__(self, *args, **kwargs):
        # Decorators are evaluated when a module is imported, which has to work.
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, types.FunctionType)):
            return args[0]
        raise Unsupported(self._name)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Stub(self._name + "." + name)

    def __mro_entries__(self, bases):
        return (type(self._name.rsplit(".", 1)[-1], (), {}),)

    def __instancecheck__(self, instance):
        return False

    def __subclasscheck__(self, subclass):
        return False

    def __iter__(self):
        raise Unsupported(self._name)

    def __repr__(self):
        return "<'%s': not supported in a dry run>" % self._name


def stub(full_name, places):
    """Stands for a name that MindSpore has in one of the modules; AttributeError if it is in none."""
    from mindspore._drydock import names
    name = full_name.rpartition(".")[2]
    if names.lacks(places, name):
        raise names.missing(places, name)
    return Stub(full_name)


def submodule(module_name, name):
    """The real sub-module of that name, imported; None if there is no such file."""
    for folder in getattr(sys.modules.get(module_name), "__path__", ()):
        base = os.path.join(folder, name)
        if os.path.isfile(base + ".py") or os.path.isfile(os.path.join(base, "__init__.py")):
            return importlib.import_module(module_name + "." + name)
    return None


def module_getattr(module_name, later=None, home=None):
    """A module-level __getattr__ that answers unknown names with sub-modules or stubs.

    `module_name` is what the stubs are called by, which may be the package that a module's names belong to; `later` says which
    module has a name that is imported when it is first asked for; `home` is the module, if that is not the caller's.
    """
    places = (home or sys._getframe(1).f_globals["__name__"], module_name)

    def getattr_(name):
        if later and name in later:
            found = getattr(importlib.import_module(later[name]), name)
            setattr(sys.modules[module_name], name, found)
            return found
        if name == "__path__" and _is_package(places[0]):
            return []  # a file here, a package there: its modules can be imported
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError("module '%s' has no attribute '%s'" % (module_name, name))
        return submodule(module_name, name) or stub(module_name + "." + name, places)

    return getattr_


def _is_package(module_name):
    from mindspore._drydock import names
    return names.is_package(module_name)


class _StubLoader:
    """A module that the stand-in has no file for; what it defines may be in the package above."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__path__ = []
        answer = module_getattr(module.__name__, home=module.__name__)

        def getattr_(name):
            from mindspore._drydock import names
            full_name = module.__name__ + "." + name
            if names.is_module(full_name):
                return importlib.import_module(full_name)
            found = answer(name)
            if not isinstance(found, Stub):
                return found
            package = module.__name__.rpartition(".")[0]
            while "." in package:  # what the module defines may be in any package above
                above = getattr(sys.modules.get(package), name, found)
                if not isinstance(above, Stub):
                    return above
                package = package.rpartition(".")[0]
            return found

        module.__getattr__ = getattr_


class _StubFinder:
    """Last resort for sub-modules of mindspore that the stand-in does not have."""

    def find_spec(self, fullname, path=None, target=None):
        from mindspore._drydock import names
        if not fullname.startswith("mindspore.") or names.lacks_module(fullname):
            return None
        return importlib.machinery.ModuleSpec(fullname, _StubLoader(), is_package=True)


def install():
    if not any(isinstance(finder, _StubFinder) for finder in sys.meta_path):
        sys.meta_path.append(_StubFinder())
