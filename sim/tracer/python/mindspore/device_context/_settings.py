"""What the modules of mindspore.device_context are made of."""
import sys
import types

from mindspore._drydock.session import RANKS_PER_NODE, session
from mindspore._drydock.lazy import module_getattr

_ACCEPTED = frozenset(("precision_mode", "op_precision_mode", "matmul_allow_hf32", "conv_allow_hf32", "execute_timeout", "debug_option",
                       "aclinit_config", "op_compile", "aoe_tune_mode", "aoe_job_type", "threads_num", "conv_allow_tf32",
                       "matmul_allow_tf32", "conv_fprop_algo", "conv_wgrad_algo", "conv_dgrad_algo"))


def device_count(target):
    """A function that answers the devices of a node."""
    return lambda: 1 if target == "CPU" else min(RANKS_PER_NODE, session.world_size)


def is_available(target):
    def answer():
        from mindspore import context
        return target == "CPU" or context.get_context("device_target") == target
    return answer


def module(owner, name, **functions):
    """A module of settings: functions of one value, and those that answer something."""
    made = types.ModuleType(owner + "." + name, "Settings that have no effect in a dry run.")
    made.__path__ = []
    others = module_getattr(made.__name__, home=made.__name__)
    made.__getattr__ = lambda key: (lambda *args, **kwargs: None) if key in _ACCEPTED else others(key)
    made.__dict__.update(functions)
    sys.modules[made.__name__] = made
    return made
