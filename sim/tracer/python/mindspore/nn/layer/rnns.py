"""Recurrent layers: one operator of the device per layer and direction for LSTM and GRU, one step after the other for RNN.

The operators (`DynamicRNN`, `DynamicGRUV2`) have no entry in the table, so the summary counts them; the shapes of weights, states
and what the kernels keep are those of the reference. Source: mindspore/python/mindspore/nn/layer/rnns.py (behaviour only).
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import Uniform, initializer
from mindspore.common.parameter import Parameter
from mindspore.nn.cell import Cell
from mindspore.ops import _unruled
from mindspore.ops import operations as P

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _positive(owner, **numbers):
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise user_error(ValueError, "%s:%s" % (owner, name), "%s of %s must be a positive whole number, not %r"
                             % (name, owner, value))


def _weight(shape, bound, name, dtype):
    return Parameter(initializer(Uniform(bound), list(shape), dtype), name=name)


class _Recurrent(Cell):
    """Layers of one or two directions."""

    _kind = "RNN"

    def __init__(self, input_size, hidden_size, num_layers=1, has_bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, dtype=mstype.float32, nonlinearity="tanh"):
        super().__init__()
        owner = type(self).__name__
        _positive(owner, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        if not 0 <= dropout < 1:
            raise user_error(ValueError, owner + ":dropout", "dropout of %s must be in [0, 1), not %r" % (owner, dropout))
        self.hidden_size, self.num_layers, self.batch_first, self.dropout = hidden_size, num_layers, batch_first, dropout
        self.bidirectional, self.nonlinearity, self._directions = bidirectional, nonlinearity, 2 if bidirectional else 1
        bound, gates = hidden_size ** -0.5, _GATES[self._kind] * hidden_size
        self._rows = []
        for layer in range(num_layers):
            inner = input_size if layer == 0 else hidden_size * self._directions
            for direction in range(self._directions):
                suffix = "l%d%s" % (layer, "_reverse" * direction)
                shapes = [("weight_ih_", (gates, inner)), ("weight_hh_", (gates, hidden_size))]
                shapes += [("bias_ih_", (gates,)), ("bias_hh_", (gates,))] if has_bias else []
                for prefix, shape in shapes:
                    setattr(self, prefix + suffix, _weight(shape, bound, prefix + suffix, dtype))
                self._rows.append(tuple(prefix + suffix for prefix, _ in shapes))

    def construct(self, x, hx=None, seq_length=None):
        from mindspore.ops import functional as F
        dtype = x.dtype
        x = F.transpose(x, (1, 0, 2)) if self.batch_first else x
        states = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self._directions):
                number = layer * self._directions + direction
                weights = [getattr(self, name) for name in self._rows[number]]
                steps = P.ReverseV2()(x, (0,)) if direction else x
                output, state = self._layer(steps, self._state(hx, number, steps), weights)
                outputs.append(P.ReverseV2()(output, (0,)) if direction else output)
                states.append(state)
            x = outputs[0] if len(outputs) == 1 else F.concat(outputs, 2)
            if self.dropout and layer < self.num_layers - 1 and self.training:
                x = F.dropout(x, self.dropout)
        x = F.transpose(x, (1, 0, 2)) if self.batch_first else x
        shape = (len(states),) + states[0][0].shape
        joined = tuple(F.cast(F.concat(parts, 0).reshape(shape), dtype) for parts in zip(*states))
        return F.cast(x, dtype), joined if self._kind == "LSTM" else joined[0]

    def _state(self, hx, number, x):
        """What a layer begins with: its rows of what is given, else of zeros."""
        from mindspore.ops import functional as F
        if hx is None:
            rows = self.num_layers * self._directions
            hx = (F.zeros((rows, x.shape[1], self.hidden_size), x.dtype),) * (2 if self._kind == "LSTM" else 1)
        return tuple(part[number] for part in (hx if isinstance(hx, tuple) else (hx,)))

    def _layer(self, x, state, weights):
        """The one kernel of a layer: all steps, and what its gradient needs of each."""
        return _lstm_layer(x, state, weights) if self._kind == "LSTM" else _gru_layer(x, state, weights)


def _gates_in_order(tensors):
    """Rows of the gates i, f, g, o as the kernel wants them, i, g, f, o; what several have is added."""
    from mindspore.ops import functional as F
    parts = [P.Split(axis=0, output_num=4)(tensor) for tensor in tensors]
    return F.concat([parts[0][n] if len(parts) == 1 else parts[0][n] + parts[1][n] for n in (0, 2, 1, 3)], 0)


def _lstm_layer(x, state, weights):
    from mindspore.ops import functional as F
    half = lambda tensor: F.cast(tensor, mstype.float16)
    weight = F.concat([_gates_in_order(weights[:1]), _gates_in_order(weights[1:2])], 1)
    bias = _gates_in_order(weights[2:]) if len(weights) == 4 else F.zeros((weight.shape[0],), weight.dtype)
    hidden = state[0].shape[-1]
    operands = [half(x), half(F.transpose(weight, (1, 0))), half(bias)] + [half(F.expand_dims(part, 0)) for part in state]
    results = _unruled.record("DynamicRNN", operands, [(x.shape[:2] + (hidden,), mstype.float16)] * 8, keeps_results=True)
    return results[0], [results[1][-1], results[2][-1]]


def _gru_layer(x, state, weights):
    from mindspore.ops import functional as F
    half = lambda tensor: F.cast(tensor, mstype.float16)
    biases = list(weights[2:]) if len(weights) == 4 else [F.zeros((weights[0].shape[0],), weights[0].dtype)] * 2
    hidden, kind = state[0].shape[-1], biases[0].dtype
    operands = [half(x)] + [half(F.transpose(weight, (1, 0))) for weight in weights[:2]] + biases + [state[0]]
    results = _unruled.record("DynamicGRUV2", operands, [(x.shape[:2] + (hidden,), kind)] * 6, keeps_results=True)
    return results[0], [results[0][-1]]


class LSTM(_Recurrent):
    """See mindspore.nn.LSTM."""

    _kind = "LSTM"


class GRU(_Recurrent):
    """See mindspore.nn.GRU."""

    _kind = "GRU"


class RNN(_Recurrent):
    """See mindspore.nn.RNN."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if nonlinearity not in ("tanh", "relu"):
            raise user_error(ValueError, "RNN:nonlinearity", "nonlinearity of RNN must be 'tanh' or 'relu', not %r" % (nonlinearity,))
        super().__init__(input_size, hidden_size, num_layers, *args, nonlinearity=nonlinearity, **kwargs)

    def _layer(self, x, state, weights):
        from mindspore.ops import functional as F
        step = state[0] if state else F.zeros((x.shape[1], self.hidden_size), x.dtype)
        outputs = []
        for time in range(x.shape[0]):
            step = _cell_step(x[time], step, weights, self.nonlinearity)
            outputs.append(step)
        return F.stack(outputs), [step]


def _cell_step(x, hidden, weights, nonlinearity):
    from mindspore.ops import functional as F
    gates = P.MatMul(False, True)(x, weights[0]) + P.MatMul(False, True)(hidden, weights[1])
    gates = gates + weights[2] + weights[3] if len(weights) == 4 else gates
    return F.relu(gates) if nonlinearity == "relu" else F.tanh(gates)


class _RecurrentCell(Cell):
    """One step."""

    _kind = "RNN"

    def __init__(self, input_size, hidden_size, has_bias=True, nonlinearity="tanh", dtype=mstype.float32):
        super().__init__()
        _positive(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.nonlinearity = input_size, hidden_size, nonlinearity
        bound, gates = hidden_size ** -0.5, _GATES[self._kind] * hidden_size
        self.weight_ih = _weight((gates, input_size), bound, "weight_ih", dtype)
        self.weight_hh = _weight((gates, hidden_size), bound, "weight_hh", dtype)
        self.bias_ih = _weight((gates,), bound, "bias_ih", dtype) if has_bias else None
        self.bias_hh = _weight((gates,), bound, "bias_hh", dtype) if has_bias else None

    def _gates(self, x, hidden):
        of_x, of_hidden = P.MatMul(False, True)(x, self.weight_ih), P.MatMul(False, True)(hidden, self.weight_hh)
        if self.bias_ih is not None:
            of_x, of_hidden = of_x + self.bias_ih, of_hidden + self.bias_hh
        return of_x, of_hidden


class RNNCell(_RecurrentCell):
    """See mindspore.nn.RNNCell."""

    def construct(self, x, hx):
        from mindspore.ops import functional as F
        gates = F.add(*self._gates(x, hx))
        return F.relu(gates) if self.nonlinearity == "relu" else F.tanh(gates)


class LSTMCell(_RecurrentCell):
    """See mindspore.nn.LSTMCell."""

    _kind = "LSTM"

    def construct(self, x, hx):
        from mindspore.ops import functional as F
        hidden, memory = hx
        parts = F.split(F.add(*self._gates(x, hidden)), self.hidden_size, 1)
        memory = F.sigmoid(parts[1]) * memory + F.sigmoid(parts[0]) * F.tanh(parts[2])
        return F.sigmoid(parts[3]) * F.tanh(memory), memory


class GRUCell(_RecurrentCell):
    """See mindspore.nn.GRUCell."""

    _kind = "GRU"

    def construct(self, x, hx):
        from mindspore.ops import functional as F
        of_x, of_hidden = (F.split(part, self.hidden_size, 1) for part in self._gates(x, hx))
        reset, update = F.sigmoid(of_x[0] + of_hidden[0]), F.sigmoid(of_x[1] + of_hidden[1])
        fresh = F.tanh(of_x[2] + reset * of_hidden[2])
        return fresh + update * (hx - fresh)


__getattr__ = module_getattr("mindspore.nn")
