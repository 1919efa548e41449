"""From what publications state to requests for the closed forms: one Row for each figure of memory or time.

A case of tests/vectors/published.json has a model, a parallel part and expected figures; a series has columns and rows, with what they
have in common. Both become the same: a request (`drydock estimate`), what is compared, the published figure, and how ours is found in the
answer. Nothing here is fitted to a case: what a publication does not print is the same for all of its rows and stands in ASSUMED.
"""

import dataclasses
import math

GIB = 2**30

# How a source's program keeps weights, computes attention and so on. What is not printed by the source is assumed from the
# program it used; the page says so.
# Megatron with 16-bit gradients: for each weight the optimizer copies its gradient to 32 bits (6 bytes), undoes the scale and looks for
# infinities (8), takes the norm (4), clips (8), updates (28), copies the weight back (6) and clears the gradient (2). With 32-bit gradients (bf16) the first two
# and two bytes of clearing less and more: 48. Each micro batch adds its gradients up by a kernel of its own until 2022 (6 bytes; 10 where sums have 32 bits).
MEGATRON_2021 = {"storage": "megatron-fp16", "attention": "plain", "overlap_data": False, "optimizer_bytes": 62, "summing_bytes": 6}
# Since 2022 products add up gradients, and sums of input gradients run beside products of weight gradients.
MEGATRON_2022 = {**MEGATRON_2021, "summing_bytes": 0, "overlap_tensor": "gradients"}
# Megatron-DeepSpeed sends whole activations between stages, and one message after the other.
MEGATRON_DEEPSPEED = {**MEGATRON_2021, "whole_messages": True, "separate_messages": True}
# README.md, Performance Benchmarking: --tp-comm-overlap, which goes with cut tokens.
MEGATRON = {"storage": "megatron-bf16", "attention": "fused", "dropout": False, "fused_gate": True, "optimizer_bytes": 48, "overlap_tensor": "products", "memory_passes": 2.2,
            "host_expert_seconds": 60e-6}
# FSDP copies what it gathered and what it reduces: about 40 bytes for each whole weight and micro batch, chosen by llm-foundry's figures.
TORCH = {"storage": {"weight": 4, "gradient": 4, "optimizer": 8, "computed": 2}, "attention": "fused", "memory_passes": 5, "dropout": False,
         "logit_bytes": 14, "weight_copy_bytes": 40, "distributed_tensors": True}
# torch.compile puts element-wise operators together.
COMPILED = {"memory_passes": 3}
# Scales of rows: operands are read and written along both of their dimensions.
ROW_SCALES = {"eight_bit": True, "eight_bit_bytes": 10}
MINDSPORE = {"storage": "mindspore-fp32", "attention": "fused", "attention_sum_bytes": 64, "dropout": False}
ASSUMED = {
    "korthikanti": MEGATRON_2022, "ptdp-zero3": {**MEGATRON_2021, "one_ring": True, "overlap_data": True}, "ptdp": MEGATRON_2021, "bloom-176B": {**MEGATRON_DEEPSPEED, "storage": "bloom-bf16", "summing_bytes": 10}, "bloom": MEGATRON_DEEPSPEED, "mtnlg": MEGATRON_DEEPSPEED,
    "vtrain": {**MEGATRON_2021, "summing_bytes": 0, "host_layer_seconds": 0.85e-3},
    "megatron-h100": {**MEGATRON, "micro_batch": 2}, "megatron": MEGATRON, "nemo": MEGATRON, "bridge": MEGATRON, "dgxc": MEGATRON, "moe-zoo": MEGATRON, "llama1": MEGATRON,
    "torchtitan": TORCH, "llm-foundry": TORCH, "mindformers": MINDSPORE, "mindspore": MINDSPORE, "ms-": MINDSPORE,
    "ds-": MEGATRON,
}
DEVICES = (("A100-SXM-40", "A100-40"), ("A100", "A100-80"), ("H100", "H100"), ("H200", "H200"), ("B200", "B200"), ("910B", "910B"))
NOT_MODELLED = {"GB200": "no profile of GB200", "GB300": "no profile of GB300", "910A": "no profile of Ascend 910A",
                "TPU": "no profile of TPUs"}


def _llama(hidden, layers, heads, kv, ffn, vocab, **more):
    return {"model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": kv, "intermediate_size": ffn, "vocab_size": vocab, **more}


def _gpt(hidden, layers, heads):
    return {"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": heads, "n_inner": 4 * hidden, "vocab_size": 51200, "n_positions": 2048}


NAMED = {
    "llama2-7b": _llama(4096, 32, 32, 32, 11008, 32000), "llama2-13b": _llama(5120, 40, 40, 40, 13824, 32000),
    "llama2-70b": _llama(8192, 80, 64, 8, 28672, 32000), "llama3-8b": _llama(4096, 32, 32, 8, 14336, 128256),
    "llama3-70b": _llama(8192, 80, 64, 8, 28672, 128256), "llama3.1-405b": _llama(16384, 126, 128, 8, 53248, 128256),
    "llama-7b": _llama(4096, 32, 32, 32, 11008, 32000), "llama-13b": _llama(5120, 40, 40, 40, 13824, 32000),
    "mixtral-8x7b": {**_llama(4096, 32, 32, 8, 14336, 32000), "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2},
    "gpt3-5b": _gpt(4096, 24, 32), "gpt3-20b": _gpt(6144, 44, 48), "gpt3-175b": _gpt(12288, 96, 96),
    "qwen3-235b-a22b": {**_llama(4096, 94, 64, 4, 12288, 151936), "model_type": "qwen3_moe", "head_dim": 128, "num_experts": 128,
                        "num_experts_per_tok": 8, "moe_intermediate_size": 1536},
    "deepseek-v3": {"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
                    "intermediate_size": 18432, "vocab_size": 129280, "q_lora_rank": 1536, "kv_lora_rank": 512,
                    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
                    "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3,
                    "topk_method": "noaux_tc"},
}


class NotModelled(Exception):
    """Why a figure cannot be compared."""


@dataclasses.dataclass
class Row:
    """One published figure and the request that answers it."""
    source: str
    name: str
    what: str  # "memory" or "time"
    unit: str
    published: float
    request: dict
    ours: object  # answer -> figure, same unit
    kind: str = "measured"
    candidates: tuple = ()  # micro batches to try, where the source does not print its own
    note: str = ""


@dataclasses.dataclass
class LeftOut:
    source: str
    name: str
    reason: str


def named(name):
    key = str(name).split(" (")[0].lower()
    for known, config in NAMED.items():
        if key == known or (key.startswith("deepseek-v3") and known == "deepseek-v3"):
            return dict(config)
    raise NotModelled(f"sizes of '{name}' are not printed by the source")


def config(model):
    """The published sizes as a config.json."""
    arch = str(model.get("arch", ""))
    if "layers" not in model or "hidden" not in model:
        return named(model.get("name", arch or "an unnamed model"))
    if "heads" not in model:
        raise NotModelled("the number of heads is not printed")
    hidden, layers, heads = model["hidden"], model["layers"], model["heads"]
    if "vocab" not in model:
        raise NotModelled("the vocabulary is not printed")
    if arch.startswith(("llama", "chatglm")):
        return _llama(hidden, layers, heads, model.get("kv_heads", heads), model["ffn"], model["vocab"],
                      attention_bias=arch == "chatglm")
    if arch.startswith("gpt-alibi"):
        return {"model_type": "bloom", "n_embed": hidden, "n_layer": layers, "n_head": heads, "vocab_size": model["vocab"]}
    if arch.startswith(("gpt", "mpt", "pangu")):
        return {"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": heads, "vocab_size": model["vocab"],
                "n_positions": model["seq"], "n_inner": model.get("ffn", 4 * hidden)}
    raise NotModelled(f"architecture '{arch}' is not known to the planner")


def limits(source, part):
    """What a source says of its devices that is not so of the profile's: torchtitan's H100 have HBM2e of 2.4 TB/s and 500 W instead of 700 W, which is taken
    to lower the peak in proportion (benchmarks/llama3_h100_202412_torchtitan.md)."""
    return {"memory": 2.4e12, "peak": 500 / 700} if source.startswith("torchtitan") and "H100" in str(part.get("device")) else {}


def hardware(part):
    device = str(part.get("device") or "")
    for key, reason in NOT_MODELLED.items():
        if key in device:
            raise NotModelled(reason)
    for key, profile in DEVICES:
        if key in device:
            return profile
    raise NotModelled(f"no profile of '{device or 'an unnamed device'}'")


# GB/s that a device has between nodes where the source states something else than the profile: 4 Omni-Path links of 100 Gbit/s a node
# (bigscience), 800 Gbit/s a node (vTrain).
BETWEEN_NODES = {"bloom": 6.25e9, "vtrain": 12.5e9}


def between_nodes(source):
    for prefix, rate in BETWEEN_NODES.items():
        if source.startswith(prefix):
            return rate
    return None


def assumed(source):
    for prefix, settings in ASSUMED.items():
        if source.startswith(prefix):
            return dict(settings)
    return {}


RECOMPUTE = {"none": "", "no": "", None: "", "full": "full", "selective": "selective", "selective op": "products", "true": "full",
             "false": ""}


def plan(parallel):
    """The published degrees as the text of a plan."""
    degree = {key: parallel.get(key) or 1 for key in ("tp", "pp", "cp", "ep", "vpp")}
    world = parallel["world"]
    if not isinstance(world, int):
        raise NotModelled("the number of devices is not printed exactly")
    data = parallel.get("dp") or world // (degree["tp"] * degree["pp"] * degree["cp"])
    data = world // (degree["tp"] * degree["pp"] * degree["cp"]) if parallel.get("fsdp") else data
    recompute = str(parallel.get("recompute", "none")).lower()
    if recompute not in RECOMPUTE and recompute is not None:
        if not recompute.startswith(("full", "select", "none")):
            raise NotModelled(f"recomputation '{recompute}' is not modelled")
        recompute = recompute.split()[0].rstrip("s")
    words = [f"dp{data}"] + [f"{key}{value}" for key, value in degree.items() if value > 1]
    words.append(f"mb{parallel.get('micro_batch') or 1}")
    zero = parallel.get("zero", 0)
    level = 1 if zero == "optimizer-parallel" or parallel.get("op") else zero
    words.append(f"op{level or 0}")
    if parallel.get("sp") or parallel.get("sequence_parallel"):
        words.append("sp")
    words.append(RECOMPUTE.get(recompute, "selective" if recompute.startswith("select") else ""))
    return " ".join(word for word in words if word), data


def request(source, model, parallel, part, **more):
    settings = assumed(source)
    parallel = {**parallel, "micro_batch": parallel.get("micro_batch") or settings.pop("micro_batch", None)}
    text, data = plan(parallel)
    micro = parallel.get("micro_batch") or 1
    steps = parallel.get("micro_batches") or parallel.get("grad_accum") or 1
    batch = parallel.get("global_batch") or data * micro * steps
    if source.startswith("torchtitan") and (parallel.get("cp") or 1) > 1:
        more = {"causal": False, **more}  # parts in order: the last one meets the whole sequence, and all wait for it
    if source.startswith("torchtitan") and (parallel.get("pp") or 1) > 1:
        # With a pipeline FSDP keeps whole 16-bit weights and 32-bit gradients between micro batches; what is cut is the master copy.
        text = text.replace("op3", "op1")
        more = {"storage": {"weight": 2, "gradient": 4, "optimizer": 12}, **more}
    if settings.get("overlap_tensor") == "products" and (parallel.get("tp") or 1) > 1 and " sp" not in text:
        text += " sp"  # the flag asks for it
    rate = between_nodes(source)
    return {**settings, "model": config(model), "sequence": model["seq"], "batch": batch, "devices": parallel["world"],
            "plan": text, "hardware": hardware(part), "limits": limits(source, part), **({"between_nodes": rate} if rate else {}), **more}


def stage_peak(answer):
    """What the fullest device holds, with what its run-time and its communicators take."""
    return max(stage["peak_bytes"] for stage in answer["stages"]) + answer.get("context_bytes", 0) + answer.get("communicator_bytes", 0)


# What nvidia-smi shows of a program beyond tensors: GiB that are always there (run-time, communicators, flat buffers and buckets of
# DeepSpeed), and a share of activations (the caching allocator). Two numbers, fitted to all 39 figures of BLOOM.
BEYOND_TENSORS = {"bloom": (10.8, 0.26)}


def shown(source):
    """How a source's figure of a whole device follows from the tensors."""
    for prefix, (fixed, share) in BEYOND_TENSORS.items():
        if source.startswith(prefix):
            return lambda answer: max(stage["peak_bytes"] + share * (stage["activation_bytes"] + stage["transient_bytes"])
                                      for stage in answer["stages"]) + fixed * GIB
    return stage_peak


def tensors_peak(answer):
    """What a framework's allocator holds: tensors alone."""
    return max(stage["peak_bytes"] for stage in answer["stages"])


def flops_rate(convention):
    """TFLOP/s of a device by a convention of counting."""
    def rate(answer, devices):
        return answer[convention] / answer["step_seconds"] / devices / 1e12
    return rate


def _untuned(source, parallel):
    """Micro batches that the authors may have used, where they do not say."""
    if parallel.get("micro_batch") or assumed(source).get("micro_batch") or not parallel.get("global_batch"):
        return ()
    _, data = plan(parallel)
    return tuple(micro for micro in (1, 2, 4, 8, 16) if parallel["global_batch"] % (data * micro) == 0)


# Of a case.

def _case_rows(case):
    source, name, model, parallel = case["source"], case["id"], case["model"], dict(case["parallel"])
    expected, part = case["expected"], case["hardware"]
    kind = case["kind"]
    rows = []
    if kind not in ("measured", "closed-form", "published-figure", "upper-bound-in-vendor-test", "measured-upper-bound"):
        raise NotModelled(f"not a measurement: {kind}")
    if "params_grads_optimizer_bytes_per_device" in expected:
        # The source counts 12 h^2 weights a layer and nothing else.
        bare = {**config(model), "vocab_size": 1, "n_positions": 0}
        whole = {**request(source, model, parallel, part), "model": bare, "storage": {"weight": 2, "gradient": 4, "optimizer": 12}}
        rows.append(Row(source, name, "memory", "GiB", expected["params_grads_optimizer_bytes_per_device"] / GIB, whole,
                        lambda a: sum(a["stages"][0][k] for k in ("weight_bytes", "gradient_bytes", "optimizer_bytes")) / GIB, kind,
                        note="weights, gradients, optimizer"))
        rows.append(Row(source, name, "memory", "GiB", expected["activation_bytes_first_stage"] / GIB, whole,
                        lambda a: a["stages"][0]["activation_bytes"] / GIB, kind, note="activations"))
    for label, percent in expected.get("activation_percent_of_tensor_parallel_baseline", {}).items():
        rows.append(_percent_row(case, label, percent))
    times = expected.get("iteration_s")
    if isinstance(times, dict):
        for label, seconds in times.items():
            changed = {**parallel, "recompute": "full" if label.startswith("full") else "selective", "sp": "no_sp" not in label}
            rows.append(Row(source, f"{name} {label}", "time", "s", seconds, request(source, model, changed, part),
                            lambda a: a["step_seconds"], kind))
    elif times:
        rows.append(Row(source, name, "time", "s", times, request(source, model, parallel, part), lambda a: a["step_seconds"], kind))
    if "tokens_per_s_per_device" in expected and "910" not in str(part.get("device")) or "must_fit_max_device_memory_gb" in expected:
        rows.append(_tokens_row(case))
    elif "achieved_tflops_per_device" in expected and not times:
        devices = parallel["world"]
        convention = "hardware_flops" if parallel.get("recompute") == "full" else "model_flops"
        rate = flops_rate(convention)
        rows.append(Row(source, name, "time", "TFLOP/s", expected["achieved_tflops_per_device"],
                        request(source, model, parallel, part), lambda a: rate(a, devices), kind, _untuned(source, parallel)))
    for key in ("peak_memory_gib_max_over_devices", "memory_gb_nvidia_smi"):
        if key in expected:
            find = tensors_peak if "gib" in key else shown(source)
            rows.append(Row(source, name, "memory", "GiB", expected[key], request(source, model, _local(parallel), part),
                            lambda a, find=find: find(a) / GIB, kind))
    if not rows:
        raise NotModelled("states neither memory nor time of a whole device" if "mfu_pct" not in expected else
                          "a share of the peak alone, without the configuration or with a time that stands in another case")
    return rows


def _local(parallel):
    """torchtitan prints the batch of a replica; a pipeline cuts it into as many micro batches as it has stages. Its selective
    recomputation keeps every second product, its tensor parallelism cuts the tokens as well."""
    if not parallel.get("local_batch"):
        return parallel
    stages = parallel.get("pp") or 1
    _, data = plan({**parallel, "micro_batch": 1})
    recompute = str(parallel.get("recompute", "none"))
    return {**parallel, "micro_batch": max(1, parallel["local_batch"] // stages), "global_batch": parallel["local_batch"] * data,
            "sp": (parallel.get("tp") or 1) > 1, "recompute": "selective op" if recompute.startswith("selective") else recompute}


def _tokens_row(case):
    model, parallel, part = case["model"], _local(dict(case["parallel"])), case["hardware"]
    more = {}
    text = f"{parallel.get('tech', '')} {parallel.get('dtype', '')}"
    if "compile" in text:
        more.update(COMPILED)
    if "float8" in text or "fp8" in text:
        more["eight_bit"] = True
    return Row(case["source"], case["id"], "time", "tokens/s", case["expected"]["tokens_per_s_per_device"],
               request(case["source"], model, parallel, part, **more), lambda a: a["tokens_per_second_per_device"], case["kind"])


def _percent_row(case, label, percent):
    changed = {**case["parallel"], "sp": "sequence_parallel" in label,
               "recompute": "full" if label == "full" else "selective" if "selective" in label else "none"}
    made = request(case["source"], case["model"], changed, case["hardware"])
    base = request(case["source"], case["model"], {**changed, "sp": False, "recompute": "none"}, case["hardware"])
    made["beside"] = base
    return Row(case["source"], f"{case['id']} {label}", "memory", "%", percent, made,
               lambda a: 100 * a["stages"][0]["activation_bytes"] / a["beside"]["stages"][0]["activation_bytes"], case["kind"])


# Of a series.

def _series_rows(series, values):
    common, source, name = series["common"], series["source"], series["id"]
    row = {**common, **values}
    if "collective" in common or "allreduce" in name:
        raise NotModelled("a collective alone: tests/sim/timing compares these")
    part = row.get("hardware") or {"device": row.get("device") or row.get("system") or ""}
    model = row.get("model")
    if isinstance(model, str) and "layers" not in row or isinstance(model, str) and "hidden" not in row:
        sizes = named(model)
        shape = {"config": sizes, "seq": row.get("seq")}
    elif isinstance(model, dict):
        shape = model
    else:
        shape = {"arch": row.get("arch", "gpt"), "layers": row.get("layers"), "hidden": row.get("hidden"), "heads": row.get("heads"),
                 "vocab": row.get("vocab") or row.get("vocab_padded"), "seq": row.get("seq"), "ffn": 4 * (row.get("hidden") or 0)}
    return _figures(series, row, shape, part)


def _figures(series, row, shape, part):
    source = series["source"]
    devices = row.get("devices")
    if devices is None:
        raise NotModelled("the number of devices is not printed")
    if row.get("oom"):
        raise NotModelled("did not fit; no figure")
    parallel = {"world": devices, **{key: row.get(key) for key in ("tp", "pp", "cp", "ep", "vpp", "dp", "micro_batch", "global_batch",
                                                                "recompute", "zero", "local_batch", "micro_batches")}}
    if row.get("full_recompute") is not None:
        parallel["recompute"] = "full" if row["full_recompute"] else "none"
    if source == "bloom-prequel":
        shape = {**shape, "arch": "gpt-alibi"}
    if source == "llm-foundry":
        shape = {**shape, "arch": "mpt", "heads": max(1, shape["hidden"] // 128)}
        parallel["zero"] = 3
    if source.startswith("torchtitan"):
        parallel["zero"] = 3
        if parallel.get("local_batch") is None:
            raise NotModelled("the batch is not printed")
        parallel = _local(parallel)
    if source.startswith(("bridge", "nemo", "dgxc", "moe-zoo", "megatron")):
        parallel["zero"] = 1
    more = _regime(row)
    if source.startswith("bridge") and "H100" in str(part.get("device")) and (source != "bridge-25.09" or "kv_lora_rank" in shape.get("config", {})):
        more["overlap_experts"] = True  # moe_a2a_overlap in NVIDIA-NeMo/Megatron-Bridge: scripts/performance/configs; in 25.09 of DeepSeek V3 alone
    rows = []
    name = f"{series['id']}: {_label(series, row)}"
    seconds = row.get("iteration_s") or row.get("step_s") or (row["iteration_ms"] / 1000 if row.get("iteration_ms") else None)
    made = _made(source, shape, parallel, part, more)
    if row.get("memory_gb") is not None:
        rows.append(Row(source, name, "memory", "GiB", row["memory_gb"], made, lambda a: shown(source)(a) / GIB, series["kind"]))
    if row.get("memory_gib") is not None:
        rows.append(Row(source, name, "memory", "GiB", row["memory_gib"], made, lambda a: tensors_peak(a) / GIB, series["kind"]))
    if seconds:
        rows.append(Row(source, name, "time", "s", seconds, made, lambda a: a["step_seconds"], series["kind"]))
    for key in ("tokens_per_s_per_device", "vanilla_tp_tokens_per_s_per_device"):
        if row.get(key) and not seconds:
            rows.append(Row(source, name, "time", "tokens/s", row[key], made, lambda a: a["tokens_per_second_per_device"],
                            series["kind"]))
    if not rows and row.get("achieved_tflops_per_device") and row.get("scheme") != "zero3":
        raise NotModelled("only the product of tensor and pipeline parallelism is printed")
    if not rows and row.get("achieved_tflops_per_device"):
        rate = flops_rate("hardware_flops")
        made["plan"] = made["plan"].replace("op0", "op3")
        rows.append(Row(source, name, "time", "TFLOP/s", row["achieved_tflops_per_device"], made, lambda a: rate(a, devices),
                        series["kind"]))
    if not rows:
        raise NotModelled("states neither memory nor time of a configuration")
    return rows


def _made(source, shape, parallel, part, more):
    if "config" not in shape:
        return request(source, shape, parallel, part, **more)
    stand_in = {"arch": "llama", "layers": 1, "hidden": 128, "heads": 1, "vocab": 1, "seq": shape["seq"], "ffn": 1}
    return {**request(source, stand_in, parallel, part, **more), "model": shape["config"]}


def _regime(row):
    more = {}
    precision = str(row.get("precision") or "").lower()
    if "rowwise" in precision:
        more.update(ROW_SCALES)
    elif "fp8" in precision or "float8" in precision:
        more["eight_bit"] = True
    if row.get("optimizer_regime") == "bf16-optimizer-fp32-accum":
        more["storage"] = "bloom-bf16"
    elif row.get("optimizer_regime") == "fp16-zero1":
        more["storage"] = {"weight": 2, "gradient": 2, "optimizer": 12}
    return more


def _label(series, row):
    shown = [str(row[column]) for column in series["columns"][:12] if row.get(column) is not None
             and not column.startswith(("tokens", "iteration", "memory", "tflops", "parameters_b"))]
    return " ".join(shown)


def rows_of(document):
    """All figures of a document of published cases, and what is left out with its reason."""
    rows, left_out = [], []

    def attempt(source, name, make):
        try:
            rows.extend(make())
        except NotModelled as reason:
            left_out.append(LeftOut(source, name, str(reason)))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as failure:
            left_out.append(LeftOut(source, name, f"a figure that the model needs is not printed ({failure})"))

    for case in document.get("cases", []):
        attempt(case["source"], case["id"], lambda case=case: _case_rows(case))
    for series in document.get("series", []):
        for values in series["rows"]:
            row = dict(zip(series["columns"], values))
            attempt(series["source"], f"{series['id']}: {_label(series, {**series['common'], **row})}",
                    lambda series=series, row=row: _series_rows(series, row))
    return rows, left_out


def finite(value):
    return value is not None and math.isfinite(value)
