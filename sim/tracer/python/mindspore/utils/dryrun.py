"""Values that a script says for a dry run."""
from mindspore._drydock.lazy import module_getattr


def set_simulation():
    """Nothing to set: every run of the stand-in is a simulation."""


def is_simulation():
    return True


def mock(mock_val, *args):
    """`mock_val`; the function in `args`, which a real run calls, is not called."""
    return mock_val


__getattr__ = module_getattr(__name__)
