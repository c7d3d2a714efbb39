"""What a fingerprint costs, and that its cost grows no faster than the output: `python -m benchmarks.fingerprints`.

The outputs are those of the stored corpus, repeated up to each size, and shapes that are hostile to patterns. In ms of
processor time a kB, the least of several samples; growth: time for twice the size, which may be 2.5 times at most.
"""

import json
import time

from benchmarks.rig import ROOT, table
from ledger.fingerprint import fingerprint

CORPUS = ROOT / "tests" / "corpora" / "failure_pairs.jsonl"
SIZES = (4, 32, 128)
"""In kB; above 256 KiB an output is cut first."""
SAMPLES = 5
HOSTILE = {
    "one unbroken line": "a" * 1_024,
    "digits and dots": "1.2.3.4:5/" * 102,
    "slashes": "/a" * 512,
    "brackets": "([{" * 341,
    "frames without end": '  File "/a/b.py", line 1, in f\n    f()\n' * 26,
    "blank lines": "\n" * 1_024,
    "quotes": "\"'" * 512,
    "assertions": "E   assert 1 == 2\n" * 57,
}


def cpu_s(text: str) -> float:
    """Seconds for one fingerprint of the text."""
    took = []
    for _ in range(SAMPLES):
        began = time.process_time()
        fingerprint(text)
        took.append(time.process_time() - began)
    return min(took)


def outputs() -> dict[str, str]:
    """What is measured, by name: a text that is repeated up to a size."""
    pairs = map(json.loads, CORPUS.read_text().splitlines())
    real = "\n".join(pair[side] for pair in pairs for side in ("a", "b"))
    return {"real outputs": real} | HOSTILE


def row(name: str, text: str) -> tuple[object, ...]:
    """Cost a kB at each size, and the growth from half of the largest size to it."""
    costs = {size: cpu_s(_of_size(text, size)) for size in SIZES}
    half = cpu_s(_of_size(text, SIZES[-1] // 2))
    return (name, *(f"{1_000 * costs[size] / size:.3f}" for size in SIZES), f"{costs[SIZES[-1]] / half:.2f}")


def _of_size(text: str, size: int) -> str:
    wanted = size * 1_024
    return (text * (wanted // len(text) + 1))[:wanted]


if __name__ == "__main__":
    header = ("output", *(f"{size} kB, ms a kB" for size in SIZES), "growth")
    table(header, [row(name, text) for name, text in outputs().items()])
