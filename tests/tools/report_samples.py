"""`make samples`: what a dry run writes, for people who have not installed it, and the picture in README.md.

    report_samples.py BIN_FOLDER [--picture]

Everything comes from real runs of the examples: docs/examples/reports gets the answer on the terminal, the reports and the page of one job that does
not fit; --picture takes docs/pictures/report.png of the page of a larger one in a headless Chromium.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
SAMPLES = SOURCE / "docs/examples/reports"
PICTURE = SOURCE / "docs/pictures/report.png"
GPT = "docs/examples/gpt/net.py"
SMALL = ["--sim_level=3", "--hardware=910B", "--worker_num=16", "--device_memory=1.25GB", GPT, "--layers=4", "--hidden=2048", "--heads=16",
         "--model_parallel=4", "--vocabulary=32000", "--sequence=1024", "--stages=2", "--micro_batches=2"]
LARGE = ["--sim_level=3", "--hardware=910B", "--worker_num=512", GPT, "--model_parallel=16"]
FILES = ["summary.json", "memory.json", "communication.json", "timeline.json", "report.html"]
SIZE = (1280, 860)
MOST_PICTURE_BYTES = 150_000


def run(bin_folder, words, folder):
    """The answer of a run that may find that the job does not fit."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DRYDOCK_")}
    done = subprocess.run([Path(bin_folder).resolve() / "msrun", "--html", "--log_dir=" + folder, *words], cwd=SOURCE, env=environment,
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.replace(folder, "out")


def samples(bin_folder):
    with tempfile.TemporaryDirectory() as folder:
        answer = run(bin_folder, SMALL, folder)
        SAMPLES.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(Path(folder) / name, SAMPLES / name)
        (SAMPLES / "terminal.txt").write_text("$ msrun --html --log_dir=out %s\n%s" % (" ".join(SMALL), answer), encoding="utf-8")


def picture(bin_folder):
    sys.path.insert(0, str(SOURCE / "tests/e2e"))
    import browser
    with tempfile.TemporaryDirectory() as folder:
        print(run(bin_folder, LARGE, folder))
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        with browser.Browser(*SIZE) as page:
            page.open(Path(folder) / "report.html")
            page.screenshot(PICTURE, whole=False)
    if PICTURE.stat().st_size > MOST_PICTURE_BYTES:
        sys.exit("%s has %d bytes, more than %d" % (PICTURE, PICTURE.stat().st_size, MOST_PICTURE_BYTES))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin_folder")
    parser.add_argument("--picture", action="store_true")
    chosen = parser.parse_args()
    samples(chosen.bin_folder)
    if chosen.picture:
        picture(chosen.bin_folder)


main()
