#!/usr/bin/env python3
"""The closed forms of `drydock plan` beside its full runs, plan by plan, as rows of a table.

    closed_form.py [--build build/dev] [--hardware 910B]

Full runs are MindSpore's programs, compiled for all ranks; they are right. Sizes are those of layers that are trained, eight of them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMON = {"num_hidden_layers": 8, "num_attention_heads": 32}
MODELS = {
    "Llama": {"model_type": "llama", "hidden_size": 4096, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, **COMMON},
    "GPT": {"model_type": "gpt2", "n_embd": 4096, "n_layer": 8, "n_head": 32, "vocab_size": 50304, "n_positions": 2048, "resid_pdrop": 0.0},
    "Qwen3-MoE": {"model_type": "qwen3_moe", "hidden_size": 2048, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 6144,
                  "moe_intermediate_size": 768, "num_experts": 64, "num_experts_per_tok": 8, "vocab_size": 151936, **COMMON},
    "DeepSeek-V3": {"model_type": "deepseek_v3", "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536, "n_routed_experts": 64,
                    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 2, "moe_layer_freq": 1, "q_lora_rank": 1536,
                    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
                    "num_nextn_predict_layers": 1, "topk_method": "noaux_tc", **COMMON},
}
# Model, devices, samples, tokens, plan, further flags.
PLANS = (
    ("Llama", 8, 64, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op0 none", ()), ("Llama", 8, 64, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op1 none", ()),
    ("Llama", 8, 64, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op1 full", ()), ("Llama", 8, 64, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op2 none", ()),
    ("Llama", 8, 64, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op3 none", ()), ("Llama", 8, 64, 4096, "dp4 tp2 pp1 cp1 vpp1 mb1 op1 sp none", ()),
    ("Llama", 8, 64, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op2 full", ()), ("Llama", 8, 64, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op3 full", ()),
    ("Llama", 8, 32, 8192, "dp2 tp4 pp1 cp1 vpp1 mb1 op2 sp none", ()), ("Llama", 8, 32, 8192, "dp2 tp1 pp1 cp4 vpp1 mb1 op3 none", ()),
    ("Llama", 8, 8, 4096, "dp8 tp1 pp1 cp1 vpp1 mb1 op1 full", ()), ("Llama", 16, 64, 4096, "dp2 tp2 pp4 cp1 vpp1 mb1 op0 full", ()),
    ("Llama", 16, 64, 4096, "dp2 tp2 pp4 cp1 vpp1 mb1 op1 none", ()), ("Llama", 16, 64, 4096, "dp2 tp2 pp4 cp1 vpp1 mb1 op2 none", ()),
    ("Llama", 16, 64, 4096, "dp2 tp2 pp4 cp1 vpp2 mb1 op1 none", ()), ("Llama", 16, 32, 8192, "dp2 tp2 pp2 cp2 vpp1 mb1 op1 none", ()),
    ("Llama", 16, 64, 4096, "dp4 tp2 pp2 cp1 vpp1 mb1 op1 none", ("--storage=mindspore-fp16",)),
    ("GPT", 16, 64, 2048, "dp2 tp4 pp2 cp1 vpp1 mb1 op1 none", ()), ("GPT", 8, 64, 2048, "dp4 tp2 pp1 cp1 vpp1 mb2 op1 full", ()),
    ("GPT", 8, 64, 2048, "dp8 tp1 pp1 cp1 vpp1 mb1 op1 none", ("--attention=plain",)),
    ("Qwen3-MoE", 16, 64, 4096, "dp8 tp2 pp1 cp1 vpp1 ep8 mb1 op1 sp none", ()), ("Qwen3-MoE", 16, 64, 4096, "dp8 tp1 pp2 cp1 vpp1 ep8 mb1 op1 none", ()),
    ("DeepSeek-V3", 16, 64, 4096, "dp4 tp2 pp2 cp1 vpp1 ep8 mb1 op1 sp full", ()), ("DeepSeek-V3", 16, 64, 4096, "dp8 tp2 pp1 cp1 vpp1 ep16 mb1 op1 sp none", ()),
)


def both(program, hardware, case):
    """@return the row of a plan as `drydock plan --json` has it"""
    model, devices, samples, tokens, plan, flags = case
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        config.write_text(json.dumps(MODELS[model]))
        command = [program, "plan", "--json", "--top=20", "--memory=100000", f"--hardware={hardware}", f"--devices={devices}", f"--batch={samples}",
                   f"--sequence={tokens}", f"--fix={plan}", *flags, str(config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"closed_form: {plan}: {done.stderr.strip()}")
        return json.loads(done.stdout)["best"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build" / "dev"))
    parser.add_argument("--hardware", default="910B")
    options = parser.parse_args()
    print("| model | plan | memory in full | closed form | step in full | closed form |\n|---|---|---:|---:|---:|---:|")
    errors = {"memory": [], "time": []}
    for case in PLANS:
        row = both(f"{options.build}/bin/drydock", options.hardware, case)
        full = row["full_run"]
        if "problem" in full:
            sys.exit(f"closed_form: {row['plan']}: {full['problem']}")
        memory = 100 * (row["peak_bytes"] / full["peak_bytes"] - 1)
        time = 100 * (row["step_seconds"] / full["step_seconds"] - 1)
        errors["memory"].append(abs(memory))
        errors["time"].append(abs(time))
        print(f"| {case[0]}{' ' + case[5][0][2:] if case[5] else ''} | {row['plan']} | {full['peak_bytes'] / 2**30:.2f} GiB | {memory:+.1f} % | "
              f"{full['step_seconds']:.3f} s | {time:+.1f} % |", flush=True)
    for what, found in errors.items():
        print(f"{what}: {sum(found) / len(found):.1f} % in the mean, {max(found):.1f} % at worst, {len(found)} plans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
