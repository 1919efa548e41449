"""Normalisation layers."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.common.parameter import Parameter
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P


class LayerNorm(Cell):
    """See mindspore.nn.LayerNorm."""

    def __init__(self, normalized_shape, begin_norm_axis=-1, begin_params_axis=-1, gamma_init="ones",
                 beta_init="zeros", epsilon=1e-7, dtype=mstype.float32):
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            raise user_error(TypeError, "LayerNorm:shape-type", "normalized_shape must be a tuple or list, not %r"
                             % (normalized_shape,))
        self.normalized_shape = tuple(normalized_shape)
        self.gamma = Parameter(initializer(gamma_init, self.normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, self.normalized_shape, dtype), name="beta")
        self.layer_norm = P.LayerNorm(begin_norm_axis=begin_norm_axis, begin_params_axis=begin_params_axis,
                                      epsilon=epsilon)

    def construct(self, x):
        return self.layer_norm(x, self.gamma, self.beta)[0]


__getattr__ = module_getattr("mindspore.nn")
