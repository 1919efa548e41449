"""Settings of the cost model of the strategy search; kept, without effect on a dry run."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr

_DEFAULTS = {
    "device_memory_capacity": 16.0 * 1024 ** 3, "costmodel_alpha": 1.0, "costmodel_beta": 400.0, "costmodel_gamma": 0.001,
    "costmodel_communi_threshold": 2048.0, "costmodel_communi_const": 3072.0, "costmodel_communi_bias": 1024.0,
    "run_phase": 0, "costmodel_allreduce_fusion_algorithm": 0, "costmodel_allreduce_fusion_times": 0,
    "costmodel_allreduce_fusion_tail_percent": 0.1, "costmodel_allreduce_fusion_tail_time": 0.1,
    "costmodel_allreduce_fusion_allreduce_inherent_time": 0.1, "costmodel_allreduce_fusion_allreduce_bandwidth": 0.1,
    "costmodel_allreduce_fusion_computation_time_parameter": 0.1, "rp_matmul_mem_coef": 0.1,
    "algo_single_loop": True, "multi_subgraphs": False,
}
_settings = dict(_DEFAULTS)


def _known(key):
    if key not in _settings:
        raise user_error(ValueError, "cost-model:unknown-key", "no cost-model setting is called '%s'" % key)
    return key


def set_cost_model_context(**kwargs):
    for key, value in kwargs.items():
        kind = type(_DEFAULTS[_known(key)])
        if not isinstance(value, (int, float) if kind is float else kind):
            raise user_error(TypeError, "cost-model:%s-type" % key, "'%s' must be a %s" % (key, kind.__name__))
        _settings[key] = value


def get_cost_model_context(attr_key):
    return _settings[_known(attr_key)]


def reset_cost_model_context():
    _settings.clear()
    _settings.update(_DEFAULTS)


def _accessors(key):
    def setter(value=True, **named):
        set_cost_model_context(**{key: next(iter(named.values()), value)})

    def getter():
        return get_cost_model_context(key)

    return setter, getter


_set_rp_matmul_mem_coef, _get_rp_matmul_mem_coef = _accessors("rp_matmul_mem_coef")
_set_algo_single_loop, _get_algo_single_loop = _accessors("algo_single_loop")
_set_multi_subgraphs, _get_multi_subgraphs = _accessors("multi_subgraphs")

__getattr__ = module_getattr(__name__)
