"""Base of the optimizers with PyTorch's arguments: groups are dictionaries that scripts may change.

Source: mindspore/python/mindspore/experimental/optim/optimizer.py (behaviour only).
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter, ParameterTuple, hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.ops import composite as C


class Optimizer(Cell):
    """Subclasses define construct(gradients)."""

    step_phase = "optimizer"

    def __init__(self, params, defaults):
        super().__init__(auto_prefix=False)
        self.defaults, self.state = defaults, {}
        self.param_groups, self.lrs, self.group_start_id = [], [], [0]
        self.map_, self.hyper_map = C.Map(), C.HyperMap()
        self.__dict__["parameters"] = ()
        for group in _groups(params):
            self.add_param_group(group)
        self.__dict__["parameters"] = ParameterTuple(self.parameters)

    def add_param_group(self, param_group):
        if not isinstance(param_group, dict):
            raise user_error(TypeError, "Optimizer:group", "a group of parameters must be a dict")
        group = dict(self.defaults, **param_group)
        params = group["params"]
        group["params"] = params = [params] if isinstance(params, Parameter) else list(params)
        for parameter in params:
            if not isinstance(parameter, Parameter):
                raise user_error(TypeError, "Optimizer:params-type", "an optimizer takes Parameters, not %s"
                                 % type(parameter).__name__)
        if {id(p) for p in self.parameters} & {id(p) for p in params}:
            raise user_error(ValueError, "Optimizer:repeated-params", "a parameter is in more than one group")
        group["lr"] = _rate(group.get("lr"), "learning_rate_group_%d" % len(self.param_groups))
        group["weight_decay"] = float(group.get("weight_decay", 0.0))
        self.lrs.append(group["lr"])
        self.param_groups.append(group)
        self.group_start_id.append(self.group_start_id[-1] + len(params))
        self.__dict__["parameters"] = tuple(self.parameters) + tuple(params)

    def states(self, prefix):
        """State parameters of the weights' shapes."""
        clones = self.parameters.clone(prefix=prefix, init="zeros")
        for state in clones:
            state.role, state.requires_grad = "optimizer_state", False
        return clones

    def of_group(self, number, items):
        return items[self.group_start_id[number]:self.group_start_id[number + 1]]

    def construct(self, *hyper_params):
        raise user_error(NotImplementedError, "Optimizer:construct", "an optimizer must define construct()")


def _groups(params):
    if params is None or not hasattr(params, "__iter__"):
        raise user_error(TypeError, "Optimizer:params-type", "params must be a list of Parameters or of groups",
                         "give network.trainable_params()")
    items = list(params)
    if not items:
        raise user_error(ValueError, "Optimizer:no-params", "an optimizer got an empty list of parameters",
                         "is requires_grad of every parameter False, or no weight a mindspore.Parameter?")
    return items if isinstance(items[0], dict) else [{"params": items}]


def _rate(rate, name):
    if isinstance(rate, Tensor) and rate.ndim == 0:
        rate = float(rate.asnumpy()) if rate._known() else 0.0
    if isinstance(rate, bool) or not isinstance(rate, (int, float)):
        raise user_error(TypeError, "Optimizer:lr-type", "lr must be a number, not %r" % (rate,))
    if rate < 0:
        raise user_error(ValueError, "Optimizer:lr-range", "lr must not be negative, not %s" % rate)
    return hyper_parameter(float(rate), name, mstype.float32)


__getattr__ = module_getattr("mindspore.experimental.optim")
