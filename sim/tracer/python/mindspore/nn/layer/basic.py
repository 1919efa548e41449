"""Dense, Embedding, Dropout, Flatten and friends. Attribute names as in the reference: users shard them."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.initializer import HeUniform, Uniform, initializer
from mindspore.common.parameter import Parameter
from mindspore.nn.cell import Cell
from mindspore.nn.layer.activation import get_activation
from mindspore.ops import operations as P


def _positive(owner, **numbers):
    for name, value in numbers.items():
        try:
            number = values.plain_int(value)
        except TypeError:
            raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a whole number, not %r"
                             % (name, owner, value)) from None
        if number < 1:
            raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be positive, not %d"
                             % (name, owner, number))


class Dense(Cell):
    """y = x W^T + b. See mindspore.nn.Dense."""

    def __init__(self, in_channels, out_channels, weight_init=None, bias_init=None, has_bias=True,
                 activation=None, dtype=mstype.float32):
        super().__init__()
        _positive("Dense", in_channels=in_channels, out_channels=out_channels)
        self.in_channels = values.plain_int(in_channels)
        self.out_channels = values.plain_int(out_channels)
        self.has_bias, self.bias = has_bias, None
        self.weight = Parameter(initializer(weight_init if weight_init is not None else HeUniform(5 ** 0.5),
                                            [self.out_channels, self.in_channels], dtype), name="weight")
        if has_bias:
            self.bias = Parameter(initializer(bias_init if bias_init is not None else Uniform(),
                                              [self.out_channels], dtype), name="bias")
            self.bias_add = P.BiasAdd()
        self.reshape = P.Reshape()
        self.shape_op = P.Shape()
        self.matmul = P.MatMul(False, True)
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        self.activation_flag = self.activation is not None

    def construct(self, x):
        shape = x.shape
        if len(shape) != 2:
            x = self.reshape(x, (-1, shape[-1]))
        x = self.matmul(x, self.weight)
        if self.has_bias:
            x = self.bias_add(x, self.bias)
        if self.activation_flag:
            x = self.activation(x)
        if len(shape) != 2:
            x = self.reshape(x, shape[:-1] + (self.out_channels,))
        return x

    def extend_repr(self):
        return "input_channels=%d, output_channels=%d" % (self.in_channels, self.out_channels)


class Linear(Cell):
    """See mindspore.nn.Linear, which mint.nn.Linear is too."""

    def __init__(self, in_features, out_features, bias=True, weight_init=None, bias_init=None, dtype=None):
        super().__init__()
        _positive("Linear", in_features=in_features, out_features=out_features)
        self.in_features = values.plain_int(in_features)
        self.out_features = values.plain_int(out_features)
        self.has_bias, self.bias = bool(bias), None
        dtype = mstype.float32 if dtype is None else dtype
        self.weight = Parameter(initializer(weight_init if weight_init is not None else HeUniform(5 ** 0.5),
                                            [self.out_features, self.in_features], dtype), name="weight")
        if self.has_bias:
            self.bias = Parameter(initializer(bias_init if bias_init is not None else Uniform(),
                                              [self.out_features], dtype), name="bias")
        self.dense = P.Dense()

    def construct(self, x):
        return self.dense(x, self.weight, self.bias)

    def extend_repr(self):
        return "input_features=%d, output_features=%d" % (self.in_features, self.out_features)


class Flatten(Cell):
    """See mindspore.nn.Flatten."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x):
        from mindspore.ops import functional as F
        return F.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """See mindspore.nn.Identity."""

    def construct(self, x):
        return x


class Dropout(Cell):
    """See mindspore.nn.Dropout; `keep_prob` is the older spelling of 1 - p."""

    def __init__(self, keep_prob=0.5, p=None, dtype=mstype.float32):
        super().__init__()
        rate = 1.0 - keep_prob if p is None else p
        if isinstance(rate, bool) or not isinstance(rate, (int, float)):
            raise user_error(TypeError, "Dropout:rate-type", "the rate of Dropout must be a number")
        if p is None and not 0 < keep_prob <= 1:
            raise user_error(ValueError, "Dropout:rate-range", "keep_prob of Dropout must be in (0, 1], not %s" % keep_prob,
                             "the first argument is what is kept; p=... is what is dropped")
        if not 0 <= rate < 1:
            raise user_error(ValueError, "Dropout:rate-range", "the rate of Dropout must be in [0, 1), not %s" % rate)
        self.p = rate
        self.keep_prob = 1.0 - rate
        self.dropout = P.Dropout(keep_prob=self.keep_prob)

    def construct(self, x):
        if not self.training or self.p == 0:
            return x
        return self.dropout(x)[0]


class Embedding(Cell):
    """See mindspore.nn.Embedding."""

    def __init__(self, vocab_size, embedding_size, use_one_hot=False, embedding_table="normal",
                 dtype=mstype.float32, padding_idx=None):
        super().__init__()
        _positive("Embedding", vocab_size=vocab_size, embedding_size=embedding_size)
        self.vocab_size = values.plain_int(vocab_size)
        self.embedding_size = values.plain_int(embedding_size)
        self.use_one_hot = use_one_hot
        self.dtype = dtype
        self.embedding_table = Parameter(
            initializer(embedding_table, [self.vocab_size, self.embedding_size], dtype), name="embedding_table")
        self.expand = P.ExpandDims()
        self.reshape_flat = P.Reshape()
        self.gather = P.Gather()
        self.one_hot = P.OneHot()
        self.array_mul = P.MatMul()
        self.reshape = P.Reshape()
        self.get_shp = P.Shape()

    def construct(self, ids):
        from mindspore.common.tensor import Tensor
        flat = self.reshape_flat(ids, (values.count(ids.shape),))
        if self.use_one_hot:
            one_hot = self.one_hot(flat, self.vocab_size, Tensor(1.0, self.dtype), Tensor(0.0, self.dtype))
            rows = self.array_mul(one_hot, self.embedding_table)
        else:
            rows = self.gather(self.embedding_table, flat, 0)
        return self.reshape(rows, ids.shape + (self.embedding_size,))


class EmbeddingLookup(Cell):
    """See mindspore.nn.EmbeddingLookup; the table cut by rows or columns in the modes that cut operators."""

    BATCH_SLICE, FIELD_SLICE = "batch_slice", "field_slice"
    TABLE_ROW_SLICE, TABLE_COLUMN_SLICE = "table_row_slice", "table_column_slice"

    def __init__(self, vocab_size, embedding_size, param_init="normal", target="CPU", slice_mode="batch_slice",
                 manual_shapes=None, max_norm=None, sparse=True, vocab_cache_size=0, dtype=mstype.float32):
        super().__init__()
        _positive("EmbeddingLookup", vocab_size=vocab_size, embedding_size=embedding_size)
        if target not in ("CPU", "DEVICE"):
            raise user_error(ValueError, "EmbeddingLookup:target", "target must be 'CPU' or 'DEVICE', not %r" % (target,))
        if not sparse and target == "CPU":
            raise user_error(ValueError, "EmbeddingLookup:sparse", "sparse must be True with target 'CPU'")
        self.vocab_size, self.embedding_size, self.target = vocab_size, embedding_size, target
        self.embedding_table = Parameter(initializer(param_init, [vocab_size, embedding_size], dtype),
                                         name="embedding_table")
        self.gatherv2 = P.Gather()
        self.embeddinglookup = P.EmbeddingLookup().set_device("CPU")
        self._cut(slice_mode, manual_shapes)

    def _cut(self, slice_mode, manual_shapes):
        from mindspore import context
        if not context.cuts_operators():
            return
        ranks = context.device_count()
        cuts = {"table_row_slice": ((ranks, 1), (1, 1)), "table_column_slice": ((1, ranks), (1, 1)),
                "batch_slice": ((1, 1), (ranks, 1)), "field_slice": ((ranks, 1), (1, ranks))}
        if slice_mode not in cuts:
            raise user_error(ValueError, "EmbeddingLookup:slice-mode", "slice_mode cannot be %r" % (slice_mode,))
        if slice_mode == "field_slice":
            if not manual_shapes:
                raise user_error(ValueError, "EmbeddingLookup:manual-shapes", "field_slice needs manual_shapes")
            for primitive in (self.gatherv2, self.embeddinglookup):
                primitive.add_prim_attr("manual_split", tuple(manual_shapes))
        for primitive in (self.gatherv2, self.embeddinglookup):
            primitive.shard(cuts[slice_mode])

    def construct(self, indices):
        if self.target == "CPU":
            return self.embeddinglookup(self.embedding_table, indices, 0)
        return self.gatherv2(self.embedding_table, indices, 0)


class ClipByNorm(Cell):
    """See mindspore.nn.ClipByNorm."""

    def __init__(self, axis=None):
        super().__init__()
        if axis is not None and not isinstance(axis, (int, tuple)) or isinstance(axis, bool):
            raise user_error(TypeError, "ClipByNorm:axis-type", "axis must be None, a whole number or a tuple, not %r" % (axis,))
        self.axis = () if axis is None else axis

    def construct(self, x, clip_norm):
        """The operators that the one operator of the reference is taken apart into."""
        from mindspore.ops import functional as F
        clip_norm = F.cast(clip_norm, mstype.float32)
        wide = F.cast(x, mstype.float32) if x.dtype is not mstype.float32 else x
        total = P.ReduceSum(keep_dims=True)(F.square(wide), self.axis)
        above = P.Greater()(total, F.zeros(total.shape, total.dtype))
        root = F.sqrt(P.Select()(above, total, F.ones(total.shape, total.dtype)))
        norm = P.Select()(above, root, total)
        clipped = P.Div()(P.Mul()(wide, clip_norm), P.Maximum()(clip_norm, norm))
        return clipped if x.dtype is mstype.float32 else F.cast(clipped, x.dtype)


class Tril(Cell):
    """See mindspore.nn.Tril."""

    def construct(self, x, k=0):
        return P.Tril(k)(x)


class Triu(Cell):
    """See mindspore.nn.Triu."""

    def construct(self, x, k=0):
        return P.Triu(k)(x)


__getattr__ = module_getattr("mindspore.nn")
