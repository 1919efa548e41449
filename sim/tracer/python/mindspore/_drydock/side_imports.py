"""Modules of other packages that importing MindSpore brings along: scripts use `PIL.Image` after a bare `import PIL`.

Pillow is not imported for it: most scripts have no use for it and it is slow. Where the script imports it, the sub-modules
that the original imports (mindspore: python/mindspore/dataset/vision/py_transforms_util.py) are there as well.
"""
import importlib
import importlib.machinery
import sys

_BROUGHT = {"PIL": ("PIL.Image", "PIL.ImageDraw", "PIL.ImageEnhance", "PIL.ImageFont", "PIL.ImageOps")}


class _Finder:
    """Lets the others find the package and adds to what its loader does."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname not in _BROUGHT or path is not None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        self._inner.exec_module(module)
        for name in _BROUGHT[module.__name__]:
            try:
                importlib.import_module(name)
            except ImportError:
                pass  # an installation without that part


def install():
    if not any(finder is _Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder)
