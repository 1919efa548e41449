"""Feed-forward blocks: one for all tokens, or many experts of which every token passes a few.

Experts lie on `ep` of the devices of a stage, each part once more on every further `ep` of them. Every device routes its own tokens: the best experts of each
token, a place in the expert's row of `capacity` tokens (equal shares), one exchange to the experts' devices and one back (AlltoAll).
"""
import mindspore as ms
from mindspore import Parameter, nn, ops
from mindspore.common.initializer import initializer

from layers import Linear, Weights


class FeedForward(nn.Cell):
    """Two products with GELU between them, or three with a gate."""

    def __init__(self, args, cut, width):
        super().__init__()
        mp = cut.mp
        self.up = Linear(args, args.hidden, width, cut.tokens, cut_out=mp, bias=args.mlp_bias)
        self.down = Linear(args, width, args.hidden, cut.tokens, cut_in=mp, bias=args.mlp_bias, rows_out=cut.rows)
        self.gate = Linear(args, args.hidden, width, cut.tokens, cut_out=mp, bias=args.mlp_bias) if args.gated else None
        self.gelu = ops.GeLU().shard(((cut.tokens, mp),))
        self.silu = ops.auto_generate.SiLU().shard(((cut.tokens, mp),))
        self.gated = ops.Mul().shard(((cut.tokens, mp), (cut.tokens, mp)))

    def construct(self, x):
        if self.gate is None:
            return self.down(self.gelu(self.up(x)))
        return self.down(self.gated(self.silu(self.gate(x)), self.up(x)))


class Router(Weights):
    """Which experts a token passes, with which weights, and where it stands in their rows. (groups, tokens, ...)"""

    def __init__(self, args, cut, capacity):
        super().__init__(args)
        self.chosen, self.count, self.capacity = args.experts_per_token, args.experts, capacity
        self.groups = cut.all
        three = (self.groups, 1, 1)
        self.matrix = self.weight([args.hidden, args.experts])
        self.matmul = ops.MatMul().shard(((self.groups, 1), (1, 1)))
        self.score = (ops.Sigmoid() if args.router == "sigmoid" else ops.Softmax(axis=-1)).shard((three,))
        self.topk = ops.TopK().shard((three,))
        self.bias = Parameter(initializer("zeros", [args.experts], ms.float32), requires_grad=False) if args.router_bias else None
        self.biased = ops.Add().shard((three, (1,)))
        self.pick = ops.Gather(batch_dims=2).shard((three, three))
        self.places = ops.auto_generate.TopKRouter().shard((three,))
        self.sum = ops.ReduceSum(keep_dims=True).shard((three,))
        self.share = ops.RealDiv().shard((three, three))
        self.reshape = ops.Reshape()

    def construct(self, x):
        weight = self.matrix if self.type == ms.float32 else self.cast(self.matrix, ms.float32)
        logits = self.matmul(self.cast(x, ms.float32), weight)
        scores = self.score(self.reshape(logits, (self.groups, -1, self.count)))
        if self.bias is None:
            shares, experts = self.topk(scores, self.chosen)
        else:
            _, experts = self.topk(self.biased(scores, self.bias), self.chosen)
            shares = self.pick(scores, experts, 2)
        to, back = self.places(experts, self.capacity, self.count, 0)
        return to, back, self.share(shares, self.sum(shares, 2))


class Experts(Weights):
    """Many feed-forward blocks; those of a device are one batch of products."""

    def __init__(self, args, cut):
        super().__init__(args)
        self.hidden, self.count, self.ep = args.hidden, args.experts, cut.ep
        self.groups, self.outer = cut.all, cut.all // cut.ep
        tokens = cut.dp * args.micro_batch * args.sequence // self.groups
        self.capacity = max(1, -(-tokens * args.experts_per_token // args.experts))
        self.router = Router(args, cut, self.capacity)
        self.up = self.weight([args.experts, args.hidden, args.expert_width])
        self.gate = self.weight([args.experts, args.hidden, args.expert_width]) if args.gated else None
        self.down = self.weight([args.experts, args.expert_width, args.hidden])
        four = (self.outer, cut.ep, 1, 1)
        for name in ("first", "second", "third"):
            setattr(self, name, ops.BatchMatMul().shard((four, (cut.ep, 1, 1))))
        self.act = (ops.auto_generate.SiLU() if args.gated else ops.GeLU()).shard((four,))
        self.gated = ops.Mul().shard((four, four))
        self.reshape = ops.Reshape()
        groups = self.groups
        self.nobody, self.nothing = self.fixed([groups, 1, args.hidden], ms.float16), self.fixed([groups, args.experts, 1, args.hidden], ms.float16)
        self.pad = ops.Concat(1).shard(((groups, 1, 1), (groups, 1, 1)))
        self.pad_back = ops.Concat(2).shard(((groups, 1, 1, 1), (groups, 1, 1, 1)))
        self.gather = ops.Gather(batch_dims=1).shard(((groups, 1, 1), (groups, 1, 1)))
        self.exchange = ops.Transpose().shard(((self.outer, 1, cut.ep, 1, 1),))
        self.weigh = ops.Mul().shard(((groups, 1, 1, 1), (groups, 1, 1, 1)))
        self.sum = ops.ReduceSum().shard(((groups, 1, 1, 1),))

    def send(self, x, to):
        """Tokens of every group in the rows of the experts, at the experts' devices."""
        padded = self.pad((self.nobody, self.reshape(x, (self.groups, -1, self.hidden))))
        sent = self.reshape(self.gather(padded, to, 1), (self.outer, self.ep, self.count, self.capacity, self.hidden))
        return self.reshape(self.exchange(sent, (0, 2, 1, 3, 4)), (self.outer, self.count, -1, self.hidden))

    def fetch(self, y, back, shares):
        """What the experts made of a group's tokens, weighed and summed."""
        y = self.exchange(self.reshape(y, (self.outer, self.count, self.ep, self.capacity, self.hidden)), (0, 2, 1, 3, 4))
        y = self.reshape(y, (self.groups, self.count, self.capacity, self.hidden))
        y = self.pad_back((self.nothing, y))
        y = self.gather(self.reshape(y, (self.groups, -1, self.hidden)), back, 1)
        shares = self.reshape(self.cast(shares, ms.float16), (self.groups, -1, shares.shape[2], 1))
        return self.reshape(self.sum(self.weigh(y, shares), 2), (-1, self.hidden))

    def construct(self, x):
        to, back, shares = self.router(x)
        sent = self.send(x, to)
        inner = self.first(sent, self.half(self.up))
        if self.gate is None:
            inner = self.act(inner)
        else:
            inner = self.gated(self.act(self.second(sent, self.half(self.gate))), inner)
        return self.fetch(self.third(inner, self.half(self.down)), back, shares)


class SparseFeedForward(nn.Cell):
    """Experts, and beside them a block that every token passes."""

    def __init__(self, args, cut):
        super().__init__()
        self.experts = Experts(args, cut)
        self.shared = FeedForward(args, cut, args.shared_width) if args.shared_width else None
        self.gate = Linear(args, args.hidden, 1, cut.rows) if args.shared_gate else None
        self.sigmoid = ops.Sigmoid().shard(((cut.rows, 1),))
        self.weigh = ops.Mul().shard(((cut.rows, 1), (cut.rows, 1)))
        self.add = ops.Add().shard(((cut.rows, 1), (cut.rows, 1)))

    def construct(self, x):
        y = self.experts(x)
        if self.shared is None:
            return y
        beside = self.shared(x)
        if self.gate is not None:
            beside = self.weigh(beside, self.sigmoid(self.gate(x)))
        return self.add(y, beside)
