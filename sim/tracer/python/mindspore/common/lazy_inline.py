"""lazy_inline, both a decorator and a module of that name."""
import functools
import sys
import types

from mindspore._drydock.lazy import module_getattr

_MARK = "is_lazy_inline"


def _marked(function):
    @functools.wraps(function)
    def construct(self, *args, **kwargs):
        self.__dict__[_MARK] = True
        return function(self, *args, **kwargs)

    return construct


def is_shared(cell):
    """True for a cell whose constructor is marked, or was called through a mark that is put on at run time."""
    return cell.__dict__.get(_MARK, False)


def lazy_inline(fn=None, attrs=None, policy=None):
    """Marks a cell whose graph is shared; a trace records each call."""
    if fn is None:
        return _marked
    return _marked(fn)


class _CallableModule(types.ModuleType):
    def __call__(self, fn=None, attrs=None, policy=None):
        return lazy_inline(fn, attrs, policy)


sys.modules[__name__].__class__ = _CallableModule


__getattr__ = module_getattr(__name__)
