"""The same classes under the reference's module name."""
from mindspore.ops.operations import class_of as __getattr__  # noqa: F401
from mindspore.ops.operations._python_ops import *  # noqa: F401,F403
