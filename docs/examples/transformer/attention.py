"""Self-attention: with keys and values of every head or of groups of them, or latent (DeepSeek V2 and V3); scores in single operators or one fused kernel.

Heads are cut by tensor parallelism. Where the sequence is cut as well (context parallelism), every part has its own queries and gathers the keys and values of
all tokens; heads then stay behind tokens, so that nothing is transposed.
"""
import mindspore as ms
from mindspore import nn, ops

from layers import Linear, Norm, Weights


class Heads(nn.Cell):
    """Rows of tokens as heads, and back.

    (samples, heads, tokens, width), or with `by_token` (samples, tokens, heads, width), for which rows are only counted otherwise. `parts` is how heads are cut,
    `plain` how something is that all heads share.
    """

    def __init__(self, args, cut, by_token):
        super().__init__()
        self.sequence, self.by_token, self.mixed = args.sequence, by_token, cut.mixed
        self.parts = (cut.dp, cut.cp, cut.mp, 1) if by_token else (cut.dp, cut.mp, 1, 1)
        self.plain = (cut.dp, cut.cp, 1, 1) if by_token else (cut.dp, 1, 1, 1)
        self.reshape = ops.Reshape()
        self.to_heads = ops.Transpose().shard(((cut.dp, 1, cut.mp, 1),))
        self.from_heads = ops.Transpose().shard(((cut.dp, cut.mp, 1, 1),))
        self.dp, self.cp, self.samples = cut.dp, cut.cp, args.micro_batch
        self.together = ops.Transpose().shard(((cut.dp, 1, cut.cp, 1, cut.mp),))
        self.apart = ops.Transpose().shard(((cut.dp, cut.cp, 1, 1, cut.mp),))

    def split(self, x, heads, width):
        if self.mixed:
            x = self.apart(self.reshape(x, (self.dp, self.cp, self.samples, -1, heads * width)), (0, 2, 1, 3, 4))
        x = self.reshape(x, (-1, self.sequence, heads, width))
        return x if self.by_token else self.to_heads(x, (0, 2, 1, 3))

    def join(self, x, heads, width):
        if not self.by_token:
            x = self.from_heads(x, (0, 2, 1, 3))
        if self.mixed:
            x = self.together(self.reshape(x, (self.dp, self.samples, self.cp, -1, heads * width)), (0, 2, 1, 3, 4))
        return self.reshape(x, (-1, heads * width))


class PlainCore(nn.Cell):
    """Softmax of the scores, times the values."""

    def __init__(self, args, cut):
        super().__init__()
        heads = (cut.dp, cut.mp, 1, 1)
        self.scores = ops.BatchMatMul(transpose_b=True).shard((heads, heads))
        self.scale = ops.Mul().shard((heads, ()))
        self.mask = ops.Add().shard((heads, (1, 1, 1, 1)))
        self.softmax = ops.Softmax(axis=-1).shard((heads,))
        self.drop = ops.Dropout(keep_prob=0.9).shard((heads,)) if args.dropout else None
        self.mix = ops.BatchMatMul().shard((heads, heads))
        self.factor = ms.Tensor(args.head_width ** -0.5, ms.float16)
        self.repeats = args.heads // args.kv_heads
        self.kv_heads, self.heads, self.sequence, self.width = args.kv_heads, args.heads, args.sequence, args.head_width
        self.tile = ops.Tile().shard(((cut.dp, cut.mp, 1, 1, 1),))
        self.reshape = ops.Reshape()

    def grown(self, x):
        if self.repeats == 1:
            return x
        x = self.reshape(x, (-1, self.kv_heads, 1, self.sequence, self.width))
        return self.reshape(self.tile(x, (1, 1, self.repeats, 1, 1)), (-1, self.heads, self.sequence, self.width))

    def construct(self, query, key, value, mask):
        weights = self.softmax(self.mask(self.scale(self.scores(query, self.grown(key)), self.factor), mask))
        if self.drop is not None:
            weights = self.drop(weights)[0]
        return self.mix(weights, self.grown(value))


class FusedCore(nn.Cell):
    """The same in one kernel, which keeps no scores."""

    def __init__(self, args, cut):
        super().__init__()
        heads = (cut.dp, cut.mp, 1, 1)
        self.flash = ops.operations.nn_ops.FlashAttentionScore(
            head_num=args.heads, input_layout="BNSD", scale_value=args.head_width ** -0.5, sparse_mode=2).shard((heads, heads, heads, (1, 1)))

    def construct(self, query, key, value, mask):
        return self.flash(query, key, value, None, None, None, mask)[3]


class FusedCoreByToken(nn.Cell):
    """The same for heads behind tokens: queries of a part of the sequence meet the keys and values of all."""

    def __init__(self, args, cut, width):
        super().__init__()
        keys = (cut.dp, 1, cut.mp)
        self.flash = ops.operations.nn_ops.FlashAttentionScore(
            head_num=args.heads, input_layout="BSH", scale_value=width ** -0.5, sparse_mode=2).shard(((cut.dp, cut.cp, cut.mp), keys, keys, (1, 1)))
        self.sequence, self.heads, self.width = args.sequence, args.heads, width
        self.reshape = ops.Reshape()

    def flat(self, x):
        return self.reshape(x, (-1, self.sequence, x.shape[2] * self.width))

    def construct(self, query, key, value, mask):
        mixed = self.flash(self.flat(query), self.flat(key), self.flat(value), None, None, None, mask)[3]
        return self.reshape(mixed, (-1, self.sequence, self.heads, self.width))


class Rotary(nn.Cell):
    """Turns pairs of a head's width by an angle that grows with the position."""

    def __init__(self, parts, tokens):
        super().__init__()
        angles = tuple(part if axis == tokens else 1 for axis, part in enumerate(parts))
        self.mul = ops.Mul().shard((parts, angles))
        self.plus = ops.Add().shard((parts, parts))
        self.split = ops.Split(3, 2).shard((parts,))
        self.neg = ops.Neg().shard((parts,))
        self.join = ops.Concat(3).shard((parts, parts))

    def construct(self, x, cos, sin):
        left, right = self.split(x)
        return self.plus(self.mul(x, cos), self.mul(self.join((self.neg(right), left)), sin))


class Angles(Weights):
    """Cosines and sines of all positions; values decide nothing here."""

    def __init__(self, args):
        super().__init__(args)
        width = args.rotary_width or args.head_width
        by_token = args.context > 1 or args.key_rank > 0
        shape = [1, args.sequence, 1, width] if by_token else [1, 1, args.sequence, width]
        rotary = args.positions == "rotary"
        self.cos, self.sin = (self.fixed(shape, ms.float16), self.fixed(shape, ms.float16)) if rotary else (None, None)

    def construct(self):
        return self.cos, self.sin


class Attention(nn.Cell):
    """Causal self-attention; the heads are cut."""

    def __init__(self, args, cut):
        super().__init__()
        self.width, self.heads, self.kv_heads = args.head_width, args.heads, args.kv_heads
        inner, outer = args.heads * args.head_width, args.kv_heads * args.head_width
        self.query = Linear(args, args.hidden, inner, cut.tokens, cut_out=cut.mp, bias=args.query_bias)
        self.key = Linear(args, args.hidden, outer, cut.tokens, cut_out=cut.mp, bias=args.query_bias)
        self.value = Linear(args, args.hidden, outer, cut.tokens, cut_out=cut.mp, bias=args.query_bias)
        self.out = Linear(args, inner, args.hidden, cut.tokens, cut_in=cut.mp, bias=args.output_bias, rows_out=cut.rows)
        by_token = cut.cp > 1
        self.axes = Heads(args, cut, by_token)
        parts = self.axes.parts
        self.query_norm = Norm(args, parts[:3], args.head_width) if args.head_norm else None
        self.key_norm = Norm(args, parts[:3], args.head_width) if args.head_norm else None
        self.rotary = Rotary(parts, 1 if by_token else 2) if args.positions == "rotary" else None
        if by_token:
            self.core = FusedCoreByToken(args, cut, args.head_width)
        else:
            self.core = FusedCore(args, cut) if args.attention == "fused" else PlainCore(args, cut)

    def construct(self, x, mask, cos, sin):
        query = self.axes.split(self.query(x), self.heads, self.width)
        key = self.axes.split(self.key(x), self.kv_heads, self.width)
        if self.query_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        if self.rotary is not None:
            query, key = self.rotary(query, cos, sin), self.rotary(key, cos, sin)
        value = self.axes.split(self.value(x), self.kv_heads, self.width)
        return self.out(self.axes.join(self.core(query, key, value, mask), self.heads, self.width))


class LatentAttention(nn.Cell):
    """Queries, keys and values come out of narrow vectors; a head's query and key have a part without and a part with position, the latter one for all
    keys of a token. Values are filled with zeros to the width of queries, as the fused kernel wants."""

    def __init__(self, args, cut):
        super().__init__()
        self.heads, self.plain, self.turned, self.value_width = args.heads, args.plain_width, args.rotary_width, args.value_width
        self.width = args.plain_width + args.rotary_width
        rank, key_rank = args.query_rank, args.key_rank
        self.narrow_query = Linear(args, args.hidden, rank, cut.rows) if rank else None
        self.query_norm = Norm(args, (cut.rows,), rank) if rank else None
        self.query_plain = Linear(args, rank or args.hidden, args.heads * self.plain, cut.tokens, cut_out=cut.mp)
        self.query_turned = Linear(args, rank or args.hidden, args.heads * self.turned, cut.tokens, cut_out=cut.mp)
        self.narrow_key = Linear(args, args.hidden, key_rank, cut.rows)
        self.key_norm = Norm(args, (cut.rows,), key_rank)
        self.key_turned = Linear(args, args.hidden, self.turned, cut.rows)
        self.key_plain = Linear(args, key_rank, args.heads * self.plain, cut.tokens, cut_out=cut.mp)
        self.value = Linear(args, key_rank, args.heads * self.value_width, cut.tokens, cut_out=cut.mp)
        self.out = Linear(args, args.heads * self.value_width, args.hidden, cut.tokens, cut_in=cut.mp, rows_out=cut.rows)
        self.axes = Heads(args, cut, True)
        parts = self.axes.parts
        self.rotary, self.rotary_key = Rotary(parts, 1), Rotary(self.axes.plain, 1)
        self.tile = ops.Tile().shard((self.axes.plain,))
        self.concat = ops.Concat(3).shard((parts, parts))
        self.slice = ops.StridedSlice().shard((parts,))
        self.missing = self.width - self.value_width
        samples, sequence = cut.dp * args.micro_batch, args.sequence
        # Zeros of the shape of a part of the keys: a constant would be whole on every device, of all samples.
        self.part, self.zeros = ops.StridedSlice().shard((parts,)), ops.ZerosLike().shard((parts,))
        self.part_end = (samples, sequence, args.heads, self.missing)
        self.end = (samples, sequence, args.heads, self.value_width)
        self.core = FusedCoreByToken(args, cut, self.width)

    def construct(self, x, mask, cos, sin):
        narrow = x if self.narrow_query is None else self.query_norm(self.narrow_query(x))
        query = self.axes.split(self.query_plain(narrow), self.heads, self.plain)
        turned = self.rotary(self.axes.split(self.query_turned(narrow), self.heads, self.turned), cos, sin)
        query = self.concat((query, turned))
        shared = self.rotary_key(self.axes.split(self.key_turned(x), 1, self.turned), cos, sin)
        narrow = self.key_norm(self.narrow_key(x))
        key = self.axes.split(self.key_plain(narrow), self.heads, self.plain)
        key = self.concat((key, self.tile(shared, (1, 1, self.heads, 1))))
        value = self.axes.split(self.value(narrow), self.heads, self.value_width)
        if self.missing:
            part = self.part(key, (0, 0, 0, 0), self.part_end, (1, 1, 1, 1))
            value = self.concat((value, self.zeros(ops.stop_gradient(part))))
        mixed = self.core(query, key, value, mask)
        if self.missing:
            mixed = self.slice(mixed, (0, 0, 0, 0), self.end, (1, 1, 1, 1))
        return self.out(self.axes.join(mixed, self.heads, self.value_width))
