"""The planner's transformer in six micro batches, weights cut over eight replicas and gathered for each of them."""
import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "transformer"
sys.path.insert(0, str(EXAMPLE))
sys.argv[1:] = [
    "--layers=2", "--hidden=512", "--heads=8", "--ffn=1024", "--vocabulary=1024", "--sequence=256", "--gated",
    "--positions=rotary", "--micro_batches=6", "--optimizer_level=3"]
runpy.run_path(str(EXAMPLE / "net.py"), run_name="__main__")
