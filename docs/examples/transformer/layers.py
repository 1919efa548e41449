"""What all parts of a transformer are made of: how a job is cut, weights that are used in 16 bits, products, normalisations."""
import mindspore as ms
from mindspore import Parameter, nn, ops
from mindspore.common.initializer import initializer


class Cut:
    """Into how many parts a stage of `devices` devices cuts what.

    `dp` parts of the batch, `cp` of the sequence, `mp` of heads, inner widths and vocabulary, `ep` of the experts. A row is a token; `tokens` parts of
    them go into cut products, `rows` lie between these: the same, or with --sequence_parallel as many as there are devices.
    """

    def __init__(self, args, devices):
        self.mp, self.cp, self.ep = args.tensor, args.context, args.expert
        self.dp = devices // (self.mp * self.cp)
        self.tokens = self.dp * self.cp
        self.all = self.tokens * self.mp
        self.rows = self.all if args.sequence_parallel else self.tokens
        # Parts of several samples lie apart from each other; their rows have to come together first.
        self.mixed = self.cp > 1 and args.micro_batch > 1


class Weights(nn.Cell):
    """Parameters of one type that are used in another."""

    def __init__(self, args):
        super().__init__()
        self.type, self.staged = args.type, args.stages > 1
        self.cast = ops.Cast()

    def weight(self, shape, init="normal"):
        return Parameter(initializer(init, shape, self.type))

    def fixed(self, shape, kind):
        """A tensor that no step changes; what is in it decides nothing here. A constant in a pipeline, where every stage has it; else a parameter, as
        a constant would exist once for every layer of a further micro batch."""
        tensor = initializer("ones", shape, kind)
        return tensor if self.staged else Parameter(tensor, requires_grad=False, parallel_optimizer=False)

    def half(self, weight):
        return weight if self.type == ms.float16 else self.cast(weight, ms.float16)


class Linear(Weights):
    """y = x W + b over the last dimension: `rows` parts of the rows, `cut_in` and `cut_out` of the two widths; `rows_out` parts of the rows of what
    comes out if that are more."""

    def __init__(self, args, width_in, width_out, rows, cut_in=1, cut_out=1, bias=False, rows_out=0):
        super().__init__(args)
        self.matrix = self.weight([width_in, width_out])
        rows_out = rows_out if rows_out != rows else 0
        cuts = ((rows, cut_in), (cut_in, cut_out))
        self.matmul = ops.MatMul().shard(cuts, ((rows_out, 1),)) if rows_out else ops.MatMul().shard(cuts)
        self.bias = self.weight([width_out], "zeros") if bias else None
        self.add = ops.Add().shard(((rows_out or rows, cut_out), (cut_out,)))

    def construct(self, x):
        y = self.matmul(x, self.half(self.matrix))
        return y if self.bias is None else self.add(y, self.half(self.bias))


class Norm(Weights):
    """Normalises the last dimension, which is never cut; `parts` says how the others are."""

    def __init__(self, args, parts, width, bias=False):
        super().__init__(args)
        self.gamma = self.weight([width], "ones")
        self.beta = self.weight([width], "zeros") if bias else None
        if bias:
            self.norm = ops.LayerNorm(begin_norm_axis=-1, begin_params_axis=-1).shard((parts + (1,), (1,), (1,)))
        else:
            self.norm = ops.RmsNorm().shard((parts + (1,), (1,)))

    def construct(self, x):
        if self.beta is None:
            return self.norm(x, self.half(self.gamma))[0]
        return self.norm(x, self.half(self.gamma), self.half(self.beta))[0]
