"""mindspore.train.data_sink: calls of a function with rows of a data set."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import tracing


def data_sink(fn, dataset, sink_size=1, jit_config=None, input_signature=None):
    """A function that calls `fn` with the next row; one row stands for `sink_size` of them."""
    if isinstance(sink_size, bool) or not isinstance(sink_size, int):
        raise user_error(TypeError, "data_sink:sink_size-type", "sink_size must be a whole number, not %r" % (sink_size,))
    if sink_size < 1 and sink_size != -1:
        raise user_error(ValueError, "data_sink:sink_size-range", "sink_size must be positive or -1, not %d" % sink_size)
    if not callable(fn):
        raise user_error(TypeError, "data_sink:function", "data_sink() takes a function, not %s" % type(fn).__name__)
    from mindspore.common.api import jit
    from mindspore.train.model import _as_tuple, _rows, _size
    called = jit(fn) if jit_config is not None else fn

    def step():
        for row in _rows(dataset):
            with tracing.standing_for(sink_size if sink_size > 0 else _size(dataset), data_sink=True):
                return called(*_as_tuple(row))
        raise user_error(ValueError, "data_sink:empty-dataset", "the data set of data_sink() has no rows")

    return step


__getattr__ = module_getattr("mindspore.train")
