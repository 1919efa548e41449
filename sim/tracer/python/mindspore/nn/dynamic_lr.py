"""Learning rates as lists, one number per step. Source: mindspore/python/mindspore/nn/dynamic_lr.py (what each list holds)."""
import math

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr


def _check(owner, wholes, floats, rates=()):
    """wholes: whole numbers above 0; floats: numbers above 0; rates: numbers from 0 on."""
    for name, value in wholes.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a whole number, not %r"
                             % (name, owner, value))
        if value <= 0:
            raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be positive, not %s"
                             % (name, owner, value))
    for name, value in dict(floats, **dict(rates)).items():
        if not isinstance(value, float):
            raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a float, not %r"
                             % (name, owner, value))
        if value < 0 or (value == 0 and name in floats):
            raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be positive, not %s"
                             % (name, owner, value))


def _list(owner, rate_of_epoch, total_step, step_per_epoch):
    _check(owner, {"total_step": total_step, "step_per_epoch": step_per_epoch}, {})
    return [rate_of_epoch(step // step_per_epoch) for step in range(total_step)]


def piecewise_constant_lr(milestone, learning_rates):
    if len(milestone) != len(learning_rates):
        raise user_error(ValueError, "piecewise_constant_lr:length", "milestone and learning_rates differ in length")
    rates, before = [], 0
    for end, rate in zip(milestone, learning_rates):
        if end < before:
            raise user_error(ValueError, "piecewise_constant_lr:milestone", "milestones must not decrease")
        rates += [rate] * (end - before)
        before = end
    return rates


def exponential_decay_lr(learning_rate, decay_rate, total_step, step_per_epoch, decay_epoch, is_stair=False):
    _check("exponential_decay_lr", {"decay_epoch": decay_epoch},
           {"learning_rate": learning_rate, "decay_rate": decay_rate})
    return _list("exponential_decay_lr", lambda epoch: learning_rate * decay_rate ** (
        epoch // decay_epoch if is_stair else epoch / decay_epoch), total_step, step_per_epoch)


def natural_exp_decay_lr(learning_rate, decay_rate, total_step, step_per_epoch, decay_epoch, is_stair=False):
    _check("natural_exp_decay_lr", {"decay_epoch": decay_epoch},
           {"learning_rate": learning_rate, "decay_rate": decay_rate})
    return _list("natural_exp_decay_lr", lambda epoch: learning_rate * math.exp(
        -decay_rate * (epoch // decay_epoch * decay_epoch if is_stair else epoch)), total_step, step_per_epoch)


def inverse_decay_lr(learning_rate, decay_rate, total_step, step_per_epoch, decay_epoch, is_stair=False):
    _check("inverse_decay_lr", {"decay_epoch": decay_epoch},
           {"learning_rate": learning_rate, "decay_rate": decay_rate})
    return _list("inverse_decay_lr", lambda epoch: learning_rate / (1 + decay_rate * (
        epoch // decay_epoch if is_stair else epoch / decay_epoch)), total_step, step_per_epoch)


def cosine_decay_lr(min_lr, max_lr, total_step, step_per_epoch, decay_epoch):
    _check("cosine_decay_lr", {"decay_epoch": decay_epoch}, {"max_lr": max_lr}, {"min_lr": min_lr})
    if min_lr >= max_lr:
        raise user_error(ValueError, "cosine_decay_lr:min_lr-range", "min_lr must be smaller than max_lr")
    return _list("cosine_decay_lr", lambda epoch: min_lr + 0.5 * (max_lr - min_lr) * (
        1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch)), total_step, step_per_epoch)


def polynomial_decay_lr(learning_rate, end_learning_rate, total_step, step_per_epoch, decay_epoch, power,
                        update_decay_epoch=False):
    _check("polynomial_decay_lr", {"decay_epoch": decay_epoch}, {"learning_rate": learning_rate, "power": power},
           {"end_learning_rate": end_learning_rate})

    def rate(epoch):
        length = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else decay_epoch
        left = 1 - (epoch if update_decay_epoch else min(epoch, decay_epoch)) / length
        return (learning_rate - end_learning_rate) * left ** power + end_learning_rate

    return _list("polynomial_decay_lr", rate, total_step, step_per_epoch)


def warmup_lr(learning_rate, total_step, step_per_epoch, warmup_epoch):
    _check("warmup_lr", {"warmup_epoch": warmup_epoch}, {}, {"learning_rate": learning_rate})
    return _list("warmup_lr", lambda epoch: learning_rate * min(epoch, warmup_epoch) / warmup_epoch, total_step,
                 step_per_epoch)


__getattr__ = module_getattr(__name__)
