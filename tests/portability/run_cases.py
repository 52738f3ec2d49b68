"""Repeats written cases on whatever onnxruntime is installed beside NumPy; needs nothing else of the project."""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

TOLERANCE = 1e-4
FLOOR = 1e-3
"""Smaller numbers are compared as if they were this large: the mean of what is normalised is nothing but rounding."""


def main(folder: Path) -> int:
    """How many tensors differ by more than the tolerance, of the greatest number in them."""
    differing = 0
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for case in sorted(folder.glob("*/case.json")):
        content = case.with_suffix(".bin").read_bytes()
        worst = 0.0
        for graph, tensors in json.loads(case.read_text()).items():
            arrays = {kind: {entry["name"]: _array(entry, content) for entry in tensors[kind]} for kind in tensors}
            session = onnxruntime.InferenceSession(case.with_name(f"{graph}.onnx"), options)
            outputs = list(arrays["outputs"])
            for name, found in zip(outputs, session.run(outputs, arrays["inputs"]), strict=True):
                wanted = arrays["outputs"][name]
                off = float(np.abs(found - wanted).max() / max(float(np.abs(wanted).max()), FLOOR))
                worst = max(worst, off)
                if not off <= TOLERANCE:
                    differing += 1
                    print(f"{case.parent.name} {graph} {name}: off by {off:.1e}")
        print(f"{case.parent.name}: {worst:.1e}")
    print(f"onnxruntime {onnxruntime.__version__}: {differing} tensors differ")
    return differing


def _array(entry, content: bytes):
    return np.frombuffer(content, entry["dtype"], int(np.prod(entry["shape"])), entry["offset"]).reshape(entry["shape"])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0)
