"""lazy_inline, both a decorator and a module of that name."""
import sys
import types


def lazy_inline(fn=None, attrs=None, policy=None):
    """Marks a cell whose graph is shared; a trace records each call."""
    return fn if fn is not None else lambda function: function


class _CallableModule(types.ModuleType):
    def __call__(self, fn=None, attrs=None, policy=None):
        return lazy_inline(fn, attrs, policy)


sys.modules[__name__].__class__ = _CallableModule
