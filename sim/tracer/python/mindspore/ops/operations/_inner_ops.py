"""The same classes under the reference's module name."""
from mindspore.ops import operations
from mindspore.ops.operations._python_ops import *  # noqa: F401,F403


def __getattr__(name):
    """Classes that only MindSpore itself uses differ between releases: none is taken for a mistake."""
    try:
        return operations.class_of(name)
    except AttributeError:
        if not name[:1].isupper():
            raise
        return operations.unknown_class(name)
