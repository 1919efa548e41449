"""Base of the optimizers: parameters, learning rate, weight decay. Source: spec tracing-frontend 11."""
import contextlib

from mindspore._drydock.errors import user_error
from mindspore._drydock.gradient import phase
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.common.parameter import Parameter, ParameterTuple, hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P


def check_number(owner, name, value, low=None, high=None, kinds=(float, int)):
    """A number within [low, high]; the reference's exception classes."""
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a number, not %r"
                         % (name, owner, value))
    if (low is not None and value < low) or (high is not None and value > high):
        raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be %s, not %s"
                         % (name, owner, ">= %s" % low if high is None else "between %s and %s" % (low, high), value))
    return float(value)


class Optimizer(Cell):
    """Base class; subclasses record one update operator per parameter."""

    _support_parallel_optimizer = False

    def __init__(self, learning_rate, parameters, weight_decay=0.0, loss_scale=1.0):
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        groups = _groups(name, parameters, learning_rate, weight_decay)
        self.parameters = ParameterTuple(p for group in groups for p in group["params"])
        _check_unique(name, self.parameters)
        self.loss_scale = check_number(name, "loss_scale", loss_scale)
        if self.loss_scale <= 0:
            raise user_error(ValueError, name + ":loss_scale-range", "loss_scale must be positive")
        self.dynamic_lr = False
        self._rates = {}
        self.weight_decays = []
        self.learning_rates = []
        for group in groups:
            rate = self._rate_parameter(name, group["lr"])
            self.learning_rates += [rate] * len(group["params"])
            self.weight_decays += [group["weight_decay"]] * len(group["params"])
        self.learning_rate = self.learning_rates[0]
        self.weight_decay = self.weight_decays[0]
        self.global_step = Parameter(initializer(0, [1], mstype.int32), name="global_step", requires_grad=False)
        self.global_step.role = "hyper"
        self.param_length = len(self.parameters)

    def _rate_parameter(self, name, rate):
        """The parameter that holds a learning rate; equal rates share one."""
        if isinstance(rate, Cell):
            self.__dict__["dynamic_lr"] = True
            return rate
        if isinstance(rate, Tensor) and rate.ndim == 1 or isinstance(rate, (list, tuple)):
            self.__dict__["dynamic_lr"] = True
            rate = float((rate.tolist() if isinstance(rate, Tensor) else list(rate))[0])
        elif isinstance(rate, Tensor):
            rate = float(rate.asnumpy()) if rate._known() else 0.0
        else:
            rate = check_number(name, "learning_rate", rate, low=0.0)
        if rate not in self._rates:
            suffix = "" if not self._rates else "_group_%d" % len(self._rates)
            self._rates[rate] = hyper_parameter(rate, "learning_rate" + suffix)
        return self._rates[rate]

    def states(self, prefix):
        """State parameters of the weights' shapes: moments and accumulators."""
        clones = self.parameters.clone(prefix, init="zeros")
        for state in clones:
            state.role = "optimizer_state"
            state.requires_grad = False
        return clones

    def get_lr(self):
        return self.learning_rate

    def get_lr_parameter(self, param):
        return self.learning_rate

    def decayed(self, gradient, parameter, decay):
        """Gradient with weight decay added and the loss scale taken out."""
        if decay:
            gradient = gradient + parameter * decay
        if self.loss_scale != 1.0:
            gradient = gradient * (1.0 / self.loss_scale)
        return gradient

    def update(self, gradients):
        raise user_error(NotImplementedError, "Optimizer:update", "an optimizer must define construct()")

    def construct(self, gradients):
        gradients = tuple(gradients)
        if len(gradients) != len(self.parameters):
            raise user_error(ValueError, "Optimizer:gradient-count",
                             "%s has %d parameters but got %d gradients"
                             % (type(self).__name__, len(self.parameters), len(gradients)))
        with phase("optimizer"):
            if self.dynamic_lr:
                from mindspore.ops import functional as F
                F.assign_add(self.global_step, Tensor([1], mstype.int32))
            with self._rates_of_this_step():
                self.update(gradients)
        return True

    @contextlib.contextmanager
    def _rates_of_this_step(self):
        """Inside, rates that are schedules are the scalars that these give for the step."""
        saved, found = self.learning_rates, {}
        for rate in saved:
            if isinstance(rate, Cell) and id(rate) not in found:
                found[id(rate)] = P.Reshape()(rate(self.global_step), ())
        self.__dict__["learning_rates"] = [found.get(id(rate), rate) for rate in saved]
        try:
            yield
        finally:
            self.__dict__["learning_rates"] = saved


def _groups(owner, parameters, learning_rate, weight_decay):
    """Parameter groups as dicts with params, lr, weight_decay."""
    if isinstance(parameters, Parameter) or not hasattr(parameters, "__iter__"):
        raise user_error(TypeError, owner + ":params-type", "params of %s must be a list of Parameters" % owner)
    items = list(parameters)
    if not items:
        raise user_error(ValueError, owner + ":no-params", "%s got an empty list of parameters" % owner,
                         "is requires_grad of every parameter False?")
    decay = 0.0 if isinstance(weight_decay, Cell) else check_number(owner, "weight_decay", weight_decay, low=0.0)
    if not isinstance(items[0], dict):
        return [{"params": [_checked(owner, p) for p in items], "lr": learning_rate, "weight_decay": decay}]
    groups = []
    for group in items:
        if "order_params" in group:
            continue
        if "params" not in group:
            raise user_error(KeyError, owner + ":group", "a parameter group needs the key 'params'")
        groups.append({"params": [_checked(owner, p) for p in group["params"]],
                       "lr": group.get("lr", learning_rate),
                       "weight_decay": check_number(owner, "weight_decay", group.get("weight_decay", decay), low=0.0)})
    return [group for group in groups if group["params"]]


def _checked(owner, parameter):
    if not isinstance(parameter, Parameter):
        raise user_error(TypeError, owner + ":params-type", "params of %s must hold Parameters, not %s"
                         % (owner, type(parameter).__name__))
    return parameter


def _check_unique(owner, parameters):
    if len({id(p) for p in parameters}) != len(parameters):
        raise user_error(RuntimeError, owner + ":repeated-params", "a parameter occurs twice in params of %s" % owner)


def opt_init_args_register(fn):
    return fn


__getattr__ = module_getattr("mindspore.nn")
