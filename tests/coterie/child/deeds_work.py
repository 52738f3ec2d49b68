import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime import InferenceSession

from coterie.child.job import Progress, ReportProgress, Unconfined
from tests.coterie.child.deeds import Answer, Arguments, Refused, Undeclared
from tests.own_kind import count_as_own_kind


def run(arguments: Arguments, report: ReportProgress) -> Answer:
    match arguments.deed:
        case "double":
            report(Progress(stage="doubling", done=1, total=1, values={"number": float(arguments.number)}))
            return Answer(2 * arguments.number)
        case "print":
            sys.stdout.write("noise on standard output\n")
            return Answer(1)
        case "refuse":
            raise Refused(what="this")
        case "kind":
            count_as_own_kind(pytest.MonkeyPatch(), __name__)
            raise ZeroDivisionError("a part of nothing")
        case "undeclared":
            raise Undeclared
        case "eat":
            return Answer(len(bytearray(arguments.number)))
        case "eat in onnxruntime":
            x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None])
            node = onnx.helper.make_node("Neg", ["x"], ["y"])
            y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None])
            graph = onnx.helper.make_graph([node], "eat", [x], [y])
            model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
            found = InferenceSession(model.SerializeToString()).run(None, {"x": np.zeros(arguments.number // 4, "f4")})
            return Answer(len(found))
        case "spin":
            while True:
                pass
        case "wait":
            report(Progress(stage="waiting", done=os.getpid()))
            while True:
                time.sleep(60)
        case "write":
            Path(arguments.other or arguments.output).write_bytes(bytes(arguments.number))
            return Answer(arguments.number)
        case "fill":
            with Path("/dev/full").open("wb") as full:
                full.write(b"one byte is too much")
            return Answer(0)
        case "unconfined":
            report(Unconfined(("being cut off from the network",)))
            return Answer(1)
        case "network":
            with socket.create_connection(("127.0.0.1", arguments.number), timeout=5):
                return Answer(1)
        case "socket":
            socket.socketpair()[0].close()
            with socket.socket(socket.AddressFamily(arguments.number)):
                return Answer(1)
        case "read":
            return Answer(0, Path(arguments.other or arguments.path).read_text())
        case "kill":
            os.kill(arguments.number, signal.SIGTERM)
            return Answer(0)
        case "exit":
            os._exit(arguments.number)
        case "environment":
            return Answer(0, json.dumps(sorted(os.environ)))
