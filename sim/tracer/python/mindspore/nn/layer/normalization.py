"""Normalisation layers."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
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


class _BatchNorm(Cell):
    """Normalisation over the batch. See mindspore.nn.BatchNorm2d."""

    def __init__(self, num_features, eps=1e-5, momentum=0.9, affine=True, gamma_init="ones", beta_init="zeros",
                 moving_mean_init="zeros", moving_var_init="ones", use_batch_statistics=None, data_format="NCHW",
                 dtype=mstype.float32):
        super().__init__()
        owner = type(self).__name__
        if isinstance(num_features, bool) or not isinstance(num_features, int):
            raise user_error(TypeError, owner + ":features-type", "num_features must be a whole number, not %r"
                             % (num_features,))
        if num_features < 1:
            raise user_error(ValueError, owner + ":features-range", "num_features must be positive")
        if not 0 <= momentum <= 1:
            raise user_error(ValueError, owner + ":momentum", "momentum must be in [0, 1], not %r" % (momentum,))
        self.num_features, self.eps, self.momentum = num_features, eps, 1.0 - momentum
        self.use_batch_statistics = use_batch_statistics
        self.moving_mean = Parameter(initializer(moving_mean_init, [num_features], dtype), name="moving_mean",
                                     requires_grad=False)
        self.moving_variance = Parameter(initializer(moving_var_init, [num_features], dtype),
                                         name="moving_variance",
                                         requires_grad=False)
        self.gamma = Parameter(initializer(gamma_init, [num_features], dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [num_features], dtype), name="beta", requires_grad=affine)
        self.bn_train = P.BatchNorm(is_training=True, epsilon=eps, momentum=self.momentum, data_format=data_format)
        self.bn_infer = P.BatchNorm(is_training=False, epsilon=eps, data_format=data_format)

    def construct(self, x):
        training = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        primitive = self.bn_train if training else self.bn_infer
        return primitive(x, self.gamma, self.beta, self.moving_mean, self.moving_variance)[0]


class BatchNorm1d(_BatchNorm):
    """See mindspore.nn.BatchNorm1d."""


class BatchNorm2d(_BatchNorm):
    """See mindspore.nn.BatchNorm2d."""


class SyncBatchNorm(_BatchNorm):
    """See mindspore.nn.SyncBatchNorm; statistics over all ranks of the group."""

    def __init__(self, num_features, eps=1e-5, momentum=0.9, affine=True, gamma_init="ones", beta_init="zeros",
                 moving_mean_init="zeros", moving_var_init="ones", use_batch_statistics=None, process_groups=None,
                 dtype=None):
        super().__init__(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
                         use_batch_statistics)
        self.group_name, self.is_global = _statistics_group(process_groups)

    def construct(self, x):
        from mindspore import context
        if self.is_global and context.cuts_operators():
            self.bn_train.add_prim_attr("sync_statistics", True)
        elif self.is_global:
            session.warn_limit("SyncBatchNorm: the exchange of statistics is left out, every rank normalises by its own")
        return super().construct(x)


def _statistics_group(process_groups):
    """(name of the group that shares statistics, whether there are others to share with) for the rank that is traced."""
    from mindspore.communication.management import GlobalComm, get_group_size, get_rank
    if process_groups is None:
        return GlobalComm.WORLD_COMM_GROUP, get_group_size() > 1
    _check_groups(process_groups, get_group_size())
    rank = get_rank()
    mine = next((group for group in process_groups if rank in group), None)
    if mine is None or len(mine) == 1:
        return None, False
    import hashlib  # here, since it is slow to import and rarely needed
    name = "%d_%s" % (len(mine), hashlib.sha256("_".join(map(str, mine)).encode()).hexdigest())
    session.groups[name] = list(mine)
    return name, True


def _check_groups(process_groups, size):
    groups = process_groups if isinstance(process_groups, (list, tuple)) else None
    if groups is None or not all(isinstance(group, (list, tuple)) for group in groups):
        raise user_error(TypeError, "SyncBatchNorm:groups-type", "process_groups must be a list of lists of ranks, not %r"
                         % (process_groups,))
    ranks = [rank for group in groups for rank in group]
    if any(isinstance(rank, bool) or not isinstance(rank, int) for rank in ranks):
        raise user_error(TypeError, "SyncBatchNorm:rank-type", "process_groups must hold whole numbers")
    if any(not 0 <= rank < size for rank in ranks) or len(set(ranks)) != len(ranks):
        raise user_error(ValueError, "SyncBatchNorm:ranks", "process_groups must hold ranks from 0 to %d, each once at most"
                         % (size - 1))


class GroupNorm(Cell):
    """See mindspore.nn.GroupNorm."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, gamma_init="ones", beta_init="zeros",
                 dtype=mstype.float32):
        super().__init__()
        if num_channels % num_groups:
            raise user_error(ValueError, "GroupNorm:groups", "num_channels must be a multiple of num_groups")
        self.num_groups, self.eps = num_groups, eps
        self.gamma = Parameter(initializer(gamma_init, [num_channels], dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [num_channels], dtype), name="beta", requires_grad=affine)
        self.group_norm = P.GroupNorm()

    def construct(self, x):
        return self.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)[0]


__getattr__ = module_getattr("mindspore.nn")
