"""mindspore.common.sparse_tensor: rows of a larger tensor."""
from mindspore._drydock.lazy import module_getattr


class RowTensor:
    """Some rows of a tensor: their numbers, what they hold, and the shape of the whole."""

    def __init__(self, indices=None, values=None, shape=None, row_tensor=None):
        if row_tensor is not None:
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        self.indices, self.values, self.dense_shape = indices, values, tuple(shape)


RowTensorInner = RowTensor

__getattr__ = module_getattr(__name__)
