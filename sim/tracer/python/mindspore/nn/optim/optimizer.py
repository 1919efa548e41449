"""Base of the optimizers: parameters, learning rates, weight decay. Source:
mindspore/python/mindspore/nn/optim/optimizer.py (which operators a step consists of).

A step: decay * weight is added to each gradient (Mul, AddN), gradients are divided by the loss scale (Mul), the rate is
worked out, the step counter grows (AssignAdd), then one update per parameter, by some optimizers the last parameter first.
"""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording.gradient import phase
from mindspore.common import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.common.parameter import Parameter, ParameterTuple, hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.optim._groups import Groups, check_number  # noqa: F401
from mindspore.ops import composite as C, operations as P


class Optimizer(Cell):
    """Base class; subclasses record the updates of one step in update()."""

    _support_parallel_optimizer = False
    step_phase = "optimizer"

    def __init__(self, learning_rate, parameters, weight_decay=0.0, loss_scale=1.0):
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        self.loss_scale = check_number(name, "loss_scale", loss_scale)
        if self.loss_scale <= 0:
            raise user_error(ValueError, name + ":loss_scale-range", "loss_scale must be positive")
        self.dynamic_weight_decay = False
        rate = self._checked_rate(learning_rate)
        groups = Groups(name, parameters, weight_decay)
        self.is_group = groups.given
        self.is_group_lr = any(group.lr is not None for group in groups.groups)
        self._check_centralization(groups)
        self.parameters = self._parameters = ParameterTuple(groups.parameters())
        self.param_length = len(self.parameters)
        self.dynamic_lr = isinstance(rate, (Cell, list)) or any(
            isinstance(self._checked_rate(group.lr), (Cell, list)) for group in groups.groups if group.lr is not None)
        self._set_rates(groups, rate)
        self._set_decays(groups)
        self.global_step = Parameter(initializer(0, [1], mstype.int32), name="global_step", requires_grad=False)
        self.global_step.role = "hyper"
        self.global_step_increase_tensor = Tensor([1], mstype.int32)
        self.reciprocal_scale = Tensor(1.0 / self.loss_scale, mstype.float32)
        self.need_scale = self.loss_scale != 1.0
        self.assignadd = P.AssignAdd()
        self._set_what_scripts_use()
        self._check_sharding()

    def _check_sharding(self):
        """Where a sharded optimizer works at all. Under the launcher the program is refused, which names both lines."""
        from mindspore import context
        if not session.compile_at_once or context.cuts_operators() or \
                not context.get_auto_parallel_context("enable_parallel_optimizer"):
            return
        mode, name = context.get_auto_parallel_context("parallel_mode"), type(self).__name__
        hint = "leave enable_parallel_optimizer out, or cut operators (semi_auto_parallel)"
        if mode != "data_parallel":
            raise user_error(RuntimeError, "Optimizer:sharded-mode",
                             "enable_parallel_optimizer does not work in mode '%s'" % mode, hint)
        if context.get_context("device_target") != "Ascend":
            raise user_error(RuntimeError, "Optimizer:sharded-target",
                             "enable_parallel_optimizer in data_parallel mode works on Ascend only", hint)
        if not self._support_parallel_optimizer:
            raise user_error(RuntimeError, name + ":sharded", "enable_parallel_optimizer in data_parallel mode needs Lamb, "
                             "AdamWeightDecay or AdaFactor, not %s" % name, hint)
        if context.device_count() > self.param_length:
            raise user_error(RuntimeError, name + ":sharded-devices", "enable_parallel_optimizer in data_parallel mode needs a "
                             "parameter for each of the %d ranks, but %s has %d" % (context.device_count(), name, self.param_length), hint)

    def _set_what_scripts_use(self):
        """Attributes that optimizers of the script find in the original's base class."""
        self.hyper_map, self.map_, self.map_reverse = C.HyperMap(), C.Map(), C.Map(None, True)
        self.hyper_map_reverse = C.HyperMap(None, True)
        self.use_parallel = self.use_dist_optimizer = self.grad_centralization = False
        self.optim_filter = (True,) * self.param_length
        self.ps_parameters = self.cache_enable = (False,) * self.param_length

    # -- settings -----------------------------------------------------------------------------------
    def _checked_rate(self, rate):
        """A number, a list of numbers (one per step), or a cell."""
        name = type(self).__name__
        if isinstance(rate, Cell):
            return rate
        if isinstance(rate, Tensor):
            if rate.ndim > 1:
                raise user_error(ValueError, name + ":learning_rate", "learning_rate must be a number or a vector")
            known = rate._known()
            if rate.ndim == 0:
                return float(rate.asnumpy()) if known else 0.0
            return [float(item) for item in rate.tolist()] if known else [0.0] * rate.shape[0]
        if hasattr(rate, "__iter__") and not isinstance(rate, str):
            return [float(item) for item in rate]
        return check_number(name, "learning_rate", rate, low=0.0)

    def _check_centralization(self, groups):
        if any(group.centralization for group in groups.groups):
            raise Unsupported("mindspore.nn.%s(grad_centralization)" % type(self).__name__,
                              "the centralization of gradients is not recorded")

    def _rate_source(self, rate, name):
        """What gives a rate: a parameter, or a cell that is called with the step counter."""
        if isinstance(rate, Cell):
            return rate
        if isinstance(rate, list):
            return _RateOfStep(rate, name)
        parameter = hyper_parameter(rate, name)
        return _RateOfParameter(parameter) if self.is_group_lr and self.dynamic_lr else parameter

    def _set_rates(self, groups, rate):
        default = self._rate_source(rate, "learning_rate")
        own = {group.number: self._rate_source(self._checked_rate(group.lr), "learning_rate_group_%d" % group.number)
               for group in groups.groups if group.lr is not None}
        self.learning_rates = groups.each(lambda group, parameter: own.get(group.number, default))
        if self.is_group_lr:  # one for each parameter, to be looked at: `learning_rate[0](step)`
            self.__dict__["learning_rate"] = list(self.learning_rates)
        else:
            self.learning_rate = default

    def _decay(self, given):
        if isinstance(given, Cell):
            self.__dict__["dynamic_weight_decay"] = True
            return given
        return check_number(type(self).__name__, "weight_decay", given, low=0.0) * self.loss_scale

    def _set_decays(self, groups):
        decays = {group.number: self._decay(group.weight_decay) for group in groups.groups}
        tensors = {number: decay if isinstance(decay, Cell) else Tensor(decay, mstype.float32)
                   for number, decay in decays.items()}
        self.weight_decays = groups.each(lambda group, parameter: tensors[group.number])
        decaying = groups.each(lambda group, parameter: isinstance(decays[group.number], Cell)
                               or decays[group.number] > 0)
        self.exec_weight_decay = any(decaying)
        self.decay_flags = tuple(decaying) if self.is_group else tuple(
            "beta" not in p.name and "gamma" not in p.name for p in self.parameters)
        if not self.is_group:
            self.weight_decay = self.weight_decays[0]

    def states(self, prefix, init="zeros"):
        """State parameters of the weights' shapes: moments and accumulators."""
        clones = self.parameters.clone(prefix, init=init)
        for state in clones:
            state.role = "optimizer_state"
            state.requires_grad = False
        return clones

    def get_lr_parameter(self, param):
        wanted = param if isinstance(param, list) else [param]
        places = {id(p): i for i, p in enumerate(self.parameters)}
        for p in wanted:
            if id(p) not in places:
                raise user_error(ValueError, "Optimizer:get_lr_parameter", "a parameter is not one of this optimizer's")
        rates = [getattr(rate, "learning_rate", rate) if isinstance(rate, Cell) else rate
                 for rate in (self.learning_rates[places[id(p)]] for p in wanted)]
        return rates if isinstance(param, list) else rates[0]

    @property
    def target(self):
        return self.__dict__.get("_target", "Ascend")

    @target.setter
    def target(self, value):
        if value not in ("CPU", "Ascend", "GPU"):
            raise user_error(ValueError, "Optimizer:target", "target must be 'CPU', 'Ascend' or 'GPU', not %r" % (value,))
        self.__dict__["_target"] = value

    # -- parts of a step ----------------------------------------------------------------------------
    def rates_of_step(self):
        """Rates of this step, one per parameter; equal ones are one value."""
        return self._of_this_step(self.learning_rates, True)

    def decays_of_step(self):
        """Decays of this step, one per parameter."""
        if not self.dynamic_weight_decay:
            return self.weight_decays
        return self._of_this_step(self.weight_decays, False)

    def get_lr(self):
        """What optimizers of the script see: one rate, or one per parameter where groups have their own."""
        rates = self.rates_of_step()
        return tuple(rates) if self.is_group_lr else rates[0]

    def get_weight_decay(self):
        """The same of decays."""
        decays = self.decays_of_step()
        return tuple(decays) if self.is_group else decays[0]

    def broadcast_params(self, optim_result):
        """Parameters of the parts of a sharded optimizer; each rank holds all of them here."""
        return optim_result

    def _of_this_step(self, sources, to_scalar):
        found, results = {}, []
        for source in sources:
            if not isinstance(source, Cell):
                results.append(source)
                continue
            if id(source) not in found:
                value = source(self.global_step)
                if to_scalar:
                    value = P.Reshape()(value, ())
                elif self.loss_scale != 1.0:
                    value = value * Tensor(self.loss_scale, mstype.float32)
                found[id(source)] = value
            results.append(found[id(source)])
        return results

    def flatten_gradients(self, gradients):
        return gradients

    def gradients_centralization(self, gradients):
        return gradients

    def decay_weight(self, gradients):
        """decay * weight is added."""
        if not self.exec_weight_decay:
            return gradients
        decays = self.decays_of_step()
        return tuple(P.AddN()((P.Mul()(weight, _as_type(decay, weight)), gradient)) if flag else gradient
                     for gradient, weight, decay, flag in zip(gradients, self.parameters, decays, self.decay_flags))

    def scale_grad(self, gradients):
        """The loss scale is taken out."""
        if not self.need_scale:
            return gradients
        return tuple(P.Mul()(gradient, _as_type(self.reciprocal_scale, gradient)) for gradient in gradients)

    def prepared(self, gradients):
        """Gradients with weight decay and without loss scale; the rates; the counter has grown."""
        gradients = self.scale_grad(self.decay_weight(gradients))
        rates = self.rates_of_step()
        self.count_step()
        return gradients, rates

    def count_step(self):
        self.assignadd(self.global_step, self.global_step_increase_tensor)

    def update(self, gradients):
        raise user_error(NotImplementedError, "Optimizer:update", "an optimizer must define construct()")

    def construct(self, gradients):
        gradients = tuple(gradients)
        if len(gradients) != len(self.parameters):
            raise user_error(ValueError, "Optimizer:gradient-count",
                             "%s has %d parameters but got %d gradients"
                             % (type(self).__name__, len(self.parameters), len(gradients)))
        with phase("optimizer"):
            self.update(gradients)
        return True


def backwards(*lists):
    """Entries that belong together, the last first."""
    return reversed(list(zip(*lists)))


def _as_type(number, like):
    """A number in the element type of a tensor; constants change theirs without an operator."""
    if number.dtype is like.dtype:
        return number
    if isinstance(number, Tensor) and number._node is None and number._known():
        return Tensor(float(number.asnumpy()), like.dtype)
    from mindspore.ops import functional as F
    return F.cast(number, like.dtype)


class _RateOfStep(Cell):
    """A list of rates: that of the step."""

    def __init__(self, rates, name):
        super().__init__()
        self.learning_rate = hyper_parameter(rates, name)
        self.gather = P.Gather()

    def construct(self, global_step):
        return self.gather(self.learning_rate, global_step, 0)


class _RateOfParameter(Cell):
    """A constant rate beside others that are lists."""

    def __init__(self, parameter):
        super().__init__()
        self.learning_rate = parameter

    def construct(self, global_step):
        return self.learning_rate + 1.0 - 1.0


def opt_init_args_register(fn):
    return fn


__getattr__ = module_getattr("mindspore.nn")
