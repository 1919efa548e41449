"""The planner's transformer with experts: 8 of them on 4 devices, one shared, tokens cut between products."""
import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "transformer"
sys.path.insert(0, str(EXAMPLE))
sys.argv[1:] = [
    "--layers=2", "--hidden=512", "--heads=8", "--ffn=1024", "--vocabulary=1024", "--sequence=256", "--gated",
    "--positions=rotary", "--tensor=2", "--experts=8", "--experts_per_token=2", "--expert_width=256",
    "--sparse_layers=1", "--expert=4", "--shared_width=256", "--sequence_parallel"]
runpy.run_path(str(EXAMPLE / "net.py"), run_name="__main__")
