"""Seeds: checked and kept."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr

_seed = None


def set_seed(seed):
    global _seed
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise user_error(TypeError, "set_seed:type", "a seed must be a whole number, not %r" % (seed,))
    if seed < 0:
        raise user_error(ValueError, "set_seed:range", "a seed must not be negative")
    _seed = seed


def get_seed():
    return _seed


def _get_graph_seed(op_seed, kernel_name):
    """(graph seed, operator seed) of a random operator; zero where none was set."""
    return (_seed or 0), (op_seed or 0)


def manual_seed(seed):
    return None


def get_rng_state():
    """A tensor as long as the state of a generator; it holds nothing."""
    from mindspore.common import dtype, tensor
    return tensor.Tensor([0, 0], dtype.int64)


def set_rng_state(state):
    return None


def initial_seed():
    """The seed that set_seed() or manual_seed() gave, else a fixed number."""
    return get_seed() or 0


__getattr__ = module_getattr("mindspore.common.seed")
