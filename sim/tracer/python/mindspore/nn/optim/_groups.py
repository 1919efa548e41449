"""Groups of parameters that an optimizer treats alike. Source: mindspore/python/mindspore/nn/optim/optimizer.py."""
from mindspore._drydock.errors import user_error
from mindspore.common.parameter import Parameter

_KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")


def check_number(owner, name, value, low=None, high=None, kinds=(float, int)):
    """A number within [low, high]; the reference's exception classes."""
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a number, not %r"
                         % (name, owner, value))
    if (low is not None and value < low) or (high is not None and value > high):
        raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be %s, not %s"
                         % (name, owner, ">= %s" % low if high is None else "between %s and %s" % (low, high), value))
    return float(value)


class Group:
    """Parameters with what the script says about them; `number` is the group's place in the list of groups.

    `lr` is None where the rate of the whole optimizer holds.
    """

    def __init__(self, number, params, lr, weight_decay, centralization):
        self.number, self.params, self.lr = number, params, lr
        self.weight_decay, self.centralization = weight_decay, centralization


class Groups:
    """What the argument `params` of an optimizer says."""

    def __init__(self, owner, parameters, weight_decay):
        if isinstance(parameters, Parameter) or not hasattr(parameters, "__iter__"):
            raise user_error(TypeError, owner + ":params-type", "params of %s must be a list of Parameters" % owner,
                             "give network.trainable_params()")
        items = list(parameters)
        if not items:
            raise user_error(ValueError, owner + ":no-params", "%s got an empty list of parameters" % owner,
                             "is requires_grad of every parameter False, or no weight a mindspore.Parameter?")
        self.given = isinstance(items[0], dict)
        self.order = None  # places in the list of all parameters, where order_params says another order
        if self.given:
            self.groups = [_group(owner, i, item, weight_decay) for i, item in enumerate(items)
                           if "order_params" not in item]
            self._set_order(owner, [item["order_params"] for item in items if "order_params" in item])
        else:
            self.groups = [Group(0, [_checked(owner, p) for p in items], None, weight_decay, False)]
        if len({id(p) for p in self.parameters()}) != len(self.parameters()):
            raise user_error(RuntimeError, owner + ":repeated-params",
                             "a parameter occurs twice in params of %s" % owner)

    def _set_order(self, owner, given):
        if not given:
            return
        wanted, have = list(given[-1]), [p for group in self.groups for p in group.params]
        places = {id(p): i for i, p in enumerate(have)}
        if len(wanted) != len(have) or any(id(p) not in places for p in wanted):
            raise user_error(ValueError, owner + ":order_params",
                             "order_params of %s must hold the parameters of all groups, each once" % owner)
        self.order = [places[id(p)] for p in wanted]

    def each(self, value):
        """value(group, parameter) for every parameter, in the order in which they are updated."""
        found = [value(group, p) for group in self.groups for p in group.params]
        return found if self.order is None else [found[i] for i in self.order]

    def parameters(self):
        return self.each(lambda group, parameter: parameter)


def _group(owner, number, item, weight_decay):
    if "params" not in item:
        raise user_error(KeyError, owner + ":group", "a parameter group needs the key 'params'")
    unknown = [key for key in item if key not in _KEYS]
    if unknown:
        raise user_error(KeyError, owner + ":group-key", "a parameter group has no key %r" % unknown[0],
                         "the keys are " + ", ".join(_KEYS))
    params = [_checked(owner, p) for p in item["params"]]
    return Group(number, params, item.get("lr"), item.get("weight_decay", weight_decay),
                 item.get("grad_centralization", False))


def _checked(owner, parameter):
    if not isinstance(parameter, Parameter):
        raise user_error(TypeError, owner + ":params-type", "params of %s must hold Parameters, not %s"
                         % (owner, type(parameter).__name__))
    return parameter
