"""lazy_inline, both a decorator and a module of that name."""
import sys
import types


def _marked(function):
    function.is_lazy_inline = True
    return function


def lazy_inline(fn=None, attrs=None, policy=None):
    """Marks a cell whose graph is shared; a trace records each call."""
    if fn is None:
        return _marked
    return _marked(fn)


class _CallableModule(types.ModuleType):
    def __call__(self, fn=None, attrs=None, policy=None):
        return lazy_inline(fn, attrs, policy)


sys.modules[__name__].__class__ = _CallableModule
