"""set_context, set_auto_parallel_context and friends."""
import functools
import os
import sys

from mindspore import _context_rules as _rules
from mindspore._drydock import environment, frames
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._fusion import fusion, whole_config
from mindspore._speed_up import options_of

GRAPH_MODE = 0
PYNATIVE_MODE = 1


class ParallelMode:
    """Names of the parallel modes."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


_context = dict(_rules.CONTEXT_DEFAULTS)


class _Settings(dict):
    """Settings of the script, and in a run that tries it the sharded optimizer."""

    def __getitem__(self, key):
        return True if key == "enable_parallel_optimizer" and session.shard_optimizer else super().__getitem__(key)


_parallel = _Settings(_rules.PARALLEL_DEFAULTS)
_set_keys = set()  # keys of set_context that the script gave
_places = {}  # key of an auto-parallel setting that the script gave -> its line
_algo = dict(_rules.ALGO_DEFAULTS)


def _settings_function(function):
    """The reference checks arguments in a decorator; user code reaches the function behind it."""
    @functools.wraps(function)
    def wrapper(**kwargs):
        return function(**kwargs)

    return wrapper


@_settings_function
def set_context(**kwargs):
    """Checks and keeps settings; device_target is applied first whatever its position."""
    for key in sorted(kwargs, key=lambda name: name != "device_target"):
        _context[key] = _rules.check_context(key, kwargs[key])
        _set_keys.add(key)
        settings = dict(kwargs[key]) if key == "jit_config" else {key: kwargs[key]}
        for name, value in settings.items():
            _context[name] = value if key == "jit_config" else _context[name]
            left_out = _rules.unfollowed_context(name, value)
            if left_out:
                session.warn_limit(left_out, at_line=True)
        if key == "ascend_config" and "parallel_speed_up_json_path" in _context[key]:
            options, left_out = options_of(_context[key]["parallel_speed_up_json_path"])
            _context.update(options)
            for text in left_out:
                session.warn_limit(text, at_line=True)


def get_context(attr_key):
    if attr_key == "device_id":
        return session.local_rank
    if attr_key not in _context:
        raise user_error(ValueError, "context:unknown-key", "no context setting is called '%s'" % attr_key,
                         _rules.nearest(attr_key, _context))
    return _context[attr_key]


def is_context_set(key):
    """True if the script gave a setting of set_context."""
    return key in _set_keys


def set_device(device_target, device_id=None):
    set_context(device_target=device_target)
    if device_id is not None:
        _rules.check_context("device_id", device_id)


@_settings_function
def set_auto_parallel_context(**kwargs):
    """Applies the settings one by one, in call order."""
    for key, value in kwargs.items():
        key = _rules.PARALLEL_ALIASES.get(key, key)
        value = _rules.check_parallel(key, value, _context["mode"])
        if key == "full_batch":
            _parallel["dataset_strategy"] = "full_batch" if value else "data_parallel"
            _parallel["full_batch_is_set"] = True
        elif key == "dataset_strategy":
            _parallel["full_batch"] = value == "full_batch"
        elif key == "comm_fusion":
            fusion.apply(value)
            _parallel["all_reduce_fusion_config"] = list(fusion.splits)
        elif key == "all_reduce_fusion_config":
            fusion.split(value)
        _parallel[key] = value
        _places[key] = frames.user_place()
    note_limits(kwargs)


def note_limits(settings):
    """Counts parallel settings that are not followed, with the line of the script that gives them."""
    for key, value in settings.items():
        left_out, file = _rules.unfollowed(key, value)
        if left_out:
            session.warn_limit(left_out, at_line=True)
        if file:
            session.warn(file)


def get_auto_parallel_context(attr_key):
    attr_key = _rules.PARALLEL_ALIASES.get(attr_key, attr_key)
    if attr_key in ("pipeline_interleave", "pipeline_scheduler"):
        return _parallel["pipeline_config"].get(attr_key, {"pipeline_interleave": False}.get(attr_key, "1f1b"))
    if attr_key not in _parallel:
        raise user_error(ValueError, "auto-parallel-context:unknown-key",
                         "no auto-parallel setting is called '%s'" % attr_key, _rules.nearest(attr_key, _parallel))
    if attr_key == "comm_fusion":
        return whole_config(_parallel[attr_key])
    if attr_key == "device_num" and _parallel[attr_key] is None:
        return session.world_size
    if attr_key == "global_rank" and _parallel[attr_key] is None:
        return session.rank
    return _parallel[attr_key]


def reset_auto_parallel_context():
    _parallel.clear()
    _parallel.update(_rules.PARALLEL_DEFAULTS)
    fusion.reset()
    _places.clear()
    if "mindspore.parallel._op_strategy" in sys.modules:
        sys.modules["mindspore.parallel._op_strategy"].reset()


def fusion_settings():
    """Switches and thresholds of collective fusion, as a dictionary to read and change."""
    return fusion.settings


def place_of_setting(key):
    """Line that gives an auto-parallel setting; None if no line does."""
    return _places.get(key)


def is_set(key):
    """True if the script gave an auto-parallel setting."""
    return key in _places


def settings_places():
    """{key: line} of the auto-parallel settings in force, to read and change."""
    return _places


# Refusals of a job -> the setting that they are about.
_REFUSED = {"job:pipeline-stages": "pipeline_stages", "job:parallel-optimizer": "enable_parallel_optimizer",
            "job:search-mode": "search_mode", "job:device-count": "parallel_mode", "job:full-batch": "dataset_strategy"}


def place_of_refusal(reason):
    """The line that gives the setting which a job is refused for; None if there is none."""
    key = _REFUSED.get(reason)
    return _places.get(key) or (_places.get("parallel_mode") if key == "search_mode" else None)


_reset_auto_parallel_context = reset_auto_parallel_context


def set_algo_parameters(**kwargs):
    for key, value in kwargs.items():
        _algo[key] = _rules.check_algo(key, value)


def get_algo_parameters(attr_key):
    if attr_key not in _algo:
        raise user_error(ValueError, "algo-parameters:unknown-key", "no algorithm setting is called '%s'" % attr_key,
                         _rules.nearest(attr_key, _algo))
    return _algo[attr_key]


def reset_algo_parameters():
    _algo.clear()
    _algo.update(_rules.ALGO_DEFAULTS)


_offload = dict(_rules.OFFLOAD_DEFAULTS)


def set_offload_context(offload_config):
    given = _rules.need(dict, "set_offload_context", "offload_config", offload_config)
    _offload.update({key: _rules.check_offload(key, value) for key, value in given.items()})


def get_offload_context():
    return dict(_offload)


_parameter_server = {}


def set_ps_context(**kwargs):
    _parameter_server.update(kwargs)


def get_ps_context(attr_key):
    return _parameter_server.get(attr_key)


def reset_ps_context():
    _parameter_server.clear()


def strategy_file():
    """The file that a compile writes its cuts to, "" if none."""
    return _parallel["strategy_ckpt_save_file"] or _parallel["strategy_ckpt_config"].get("save_file", "")


def group_file():
    """The file that a compile writes the ranks with equal parameters to, "" if none."""
    return os.environ.get("GROUP_INFO_FILE") or _parallel["group_ckpt_save_file"]


def cuts_operators():
    """True in the modes in which operators are cut."""
    return _parallel["parallel_mode"] in (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL)


def runs_pynative():
    """True if operators run one by one in a mode that cuts them: only functions with a shard() are graphs that are cut."""
    return _context["mode"] == PYNATIVE_MODE and cuts_operators()


def _runs_alone():
    """Operators that run one by one, none of them in a function with a shard(): none is cut.

    Source: mindspore/ccsrc/frontend/parallel/step_parallel_utils.cc (IsAutoParallelCareGraph)
    """
    return runs_pynative() and not session.shards_functions and _parallel["pipeline_stages"] == 1


def device_count():
    """Ranks of the job being compiled."""
    from mindspore.communication import management
    return _parallel["device_num"] or management.get_group_size()


def _check_devices(world):
    """Parallel modes need init(), and those that cut operators devices with a communication library."""
    if world == 1 or _parallel["parallel_mode"] == ParallelMode.STAND_ALONE:
        return
    if cuts_operators() and _context["device_target"] == "CPU":
        raise user_error(RuntimeError, "context:device_target-cpu", "%s does not work with device_target 'CPU'"
                         % _parallel["parallel_mode"], "use device_target='Ascend'")
    if not _init_is_missing():
        return
    if _needs_devices():
        raise user_error(RuntimeError, "context:no-init", "parallel_mode '%s' cuts the network over %d ranks, but init() has not been "
                         "called, so MindSpore would compile it for one device" % (_parallel["parallel_mode"], world),
                         "call mindspore.communication.init() before the network is called")
    session.warn("the script does not call init(): MindSpore compiles its network for one device, so nothing is cut and "
                 "no gradient is summed; call mindspore.communication.init() before the network is called", "no-init")


def _needs_devices():
    """Something that the script says needs more than one device: a strategy, pipeline stages, cut data."""
    dataset = _dataset_strategy()
    return cuts_operators() and (session.strategy_cuts or _parallel["pipeline_stages"] > 1 or
                                 not isinstance(dataset, str) and any(cut > 1 for entry in dataset for cut in entry))


def _init_is_missing():
    """Nobody has said how many ranks there are; who compiles at once plays a part of MindSpore's tests."""
    return not session.communication_started and _parallel["device_num"] is None and not session.compile_at_once


def check_reducer():
    """Gradients that every rank computes of its own samples are averaged over a group, which init() makes."""
    if _parallel["parallel_mode"] in (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL) and session.world_size > 1 and \
            _init_is_missing():
        raise user_error(RuntimeError, "context:no-init", "parallel_mode '%s' averages gradients over %d ranks, but init() has not been "
                         "called" % (_parallel["parallel_mode"], session.world_size),
                         "call mindspore.communication.init() before the training step is made")


def _pipeline_section():
    """Only modes that cut operators cut the network into stages; others leave the setting alone."""
    stages = _parallel["pipeline_stages"] if cuts_operators() else 1
    if stages == 1:
        return {"pipeline_stages": 1}
    config = _parallel["pipeline_config"]
    folded = _parallel["pipeline_segments"] > 1
    if folded:
        session.warn_limit("pipeline_segments: a folded pipeline runs in the order of an interleaved one")
    return {"pipeline_stages": stages, "pipeline_interleave": folded or config.get("pipeline_interleave", False),
            "pipeline_scheduler": config.get("pipeline_scheduler", "1f1b"),
            "pipeline_result_broadcast": _parallel["pipeline_result_broadcast"]}


def job_settings(may_compile=True):
    """The "job" section of a graph document. `may_compile`: whether it is for a network, and not to tell what a script had set."""
    if _parallel["full_batch"] and not cuts_operators() and not _parameter_server.get("enable_ps"):
        raise user_error(RuntimeError, "auto-parallel-context:full-batch",
                         "full_batch works only in semi_auto_parallel and auto_parallel mode",
                         "set parallel_mode, or leave full_batch out")
    world = device_count()
    if may_compile:
        _check_devices(world)
    alone = cuts_operators() and may_compile and world > 1 and _init_is_missing() or _runs_alone()
    mode, search = _mode_and_search()
    job = {
        "world_size": world, "mode": ParallelMode.STAND_ALONE if alone else mode,
        "search_mode": search, "dataset_strategy": "data_parallel" if alone else _dataset_strategy(),
        "gradients_mean": _parallel["gradients_mean"], "loss_repeated_mean": _parallel["loss_repeated_mean"] and not runs_pynative(),
        "gradient_fp32_sync": _parallel["gradient_fp32_sync"], "enable_alltoall": _parallel["enable_alltoall"],
        "enable_parallel_optimizer": _parallel["enable_parallel_optimizer"] and not alone,
        "elementwise_op_strategy_follow": _algo["elementwise_op_strategy_follow"],
        "device_target": _context["device_target"], "max_device_memory": _context["max_device_memory"],
    }
    job.update(_pipeline_section())
    if job["enable_parallel_optimizer"]:
        job["optimizer_sharding"] = _optimizer_sharding()
    elif not _parallel["enable_parallel_optimizer"]:
        _warn_of_sharding()
    section = fusion.job_section(cuts_operators())
    if section:
        job["comm_fusion"] = section
    job.update(environment.graph_dumps(_context["save_graphs"], _context["save_graphs_path"]))
    job.update(environment.run_settings(_context["jit_level"], _context["exec_order"], _context["memory_optimize_level"]))
    if session.compat:
        job["compat"] = session.compat
    if job["search_mode"] == "recursive_programming" and os.environ.get("MS_INTERFERED_SAPP") == "1":
        job["pins_strategies"] = True
    if _algo["fully_use_devices"] is not None:
        job["fully_use_devices"] = _algo["fully_use_devices"]
    return job


def _mode_and_search():
    """The parallel mode and how strategies are found: functions with a shard() are what propagation starts from.

    Source: mindspore/ccsrc/frontend/parallel/shard/shard.cc (SetStrategyForShard)
    """
    mode, search = _parallel["parallel_mode"], _parallel["search_mode"]
    if session.shards_functions and mode == ParallelMode.SEMI_AUTO_PARALLEL:
        return ParallelMode.AUTO_PARALLEL, "sharding_propagation"
    if session.shards_functions and mode == ParallelMode.AUTO_PARALLEL and search != "sharding_propagation":
        raise user_error(RuntimeError, "shard:search-mode", "shard() of a Cell or function needs search_mode 'sharding_propagation', not '%s'"
                         % search, "set_auto_parallel_context(search_mode=\"sharding_propagation\")")
    return mode, search


def _optimizer_sharding():
    """What parallel_optimizer_config and optimizer_weight_shard_size amount to."""
    config = _parallel["parallel_optimizer_config"]
    size = config.get("optimizer_weight_shard_size", -1)
    level = 2 if config.get("gradient_accumulation_shard") else int(config.get("optimizer_level", "level1")[-1])
    return {"shard_size": size if size != -1 else _parallel["optimizer_weight_shard_size"],
            "threshold_kb": config.get("parallel_optimizer_threshold", 64), "level": level}


def optimizer_level():
    """Level of the sharded optimizer, 0 if it is off."""
    return _optimizer_sharding()["level"] if _parallel["enable_parallel_optimizer"] else 0


def _warn_of_sharding():
    """Settings of a sharded optimizer that is off."""
    for key, default in (("parallel_optimizer_config", {}), ("optimizer_weight_shard_size", -1)):
        if _parallel[key] != default:
            session.warn("%s: %s goes for nothing without enable_parallel_optimizer=True; add that, or leave it out"
                         % (frames.place_text(_places.get(key)), key))


def _cuts_of(layout):
    """Into how many parts a layout cuts each dimension."""
    matrix = layout["device_matrix"]
    cuts = []
    for entry in layout["tensor_map"]:
        axes = entry if isinstance(entry, tuple) else (entry,)
        cut = 1
        for axis in axes:
            cut *= 1 if axis < 0 else matrix[len(matrix) - 1 - axis]
        cuts.append(cut)
    return cuts


def dataset_layouts():
    """Layouts of the inputs where dataset_strategy cuts several dimensions of one; None where cuts say it all."""
    strategy = _parallel["dataset_strategy"]
    if isinstance(strategy, str) or not cuts_operators() or all(isinstance(entry, tuple) for entry in strategy):
        return None
    several = any(sum(cut > 1 for cut in _cuts_of(layout.to_dict())) > 1 for layout in strategy)
    return tuple(strategy) if several else None


def _dataset_strategy():
    strategy = _parallel["dataset_strategy"]
    if _parallel["full_batch"] and not cuts_operators():  # with a parameter server
        session.warn_limit("full_batch of parameter-server training is taken as data_parallel")
        return "data_parallel"
    if isinstance(strategy, str):
        return strategy
    if any(not isinstance(entry, tuple) for entry in strategy):
        return [_cuts_of(layout.to_dict()) for layout in strategy]
    return [list(entry) for entry in strategy]


def _get_mode():
    return _context["mode"]


__getattr__ = module_getattr(__name__)
