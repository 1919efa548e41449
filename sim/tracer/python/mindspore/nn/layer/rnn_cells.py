"""Base of the cells of one step, for scripts that derive their own from it."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.nn.cell import Cell
from mindspore.nn.layer.rnns import GRUCell, LSTMCell, RNNCell, _positive, _weight  # noqa: F401


class RNNCellBase(Cell):
    """Weights and biases of the input and of the hidden state, for `num_chunks` gates."""

    def __init__(self, input_size, hidden_size, has_bias, num_chunks, dtype=mstype.float32):
        super().__init__()
        _positive(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.has_bias = input_size, hidden_size, has_bias
        bound, gates = hidden_size ** -0.5, num_chunks * hidden_size
        self.weight_ih = _weight((gates, input_size), bound, "weight_ih", dtype)
        self.weight_hh = _weight((gates, hidden_size), bound, "weight_hh", dtype)
        self.bias_ih = _weight((gates,), bound, "bias_ih", dtype) if has_bias else None
        self.bias_hh = _weight((gates,), bound, "bias_hh", dtype) if has_bias else None

    def reset_parameters(self, dtype=mstype.float32):
        """The values of parameters are not computed."""


__getattr__ = module_getattr("mindspore.nn")
