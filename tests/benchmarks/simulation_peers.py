"""Flower and pfl-research on the workload of `tests.benchmarks.simulation`, where they are installed, one by one.

They are no dependencies: `python3 -m venv build/peers` and `build/peers/bin/pip install 'flwr[simulation]' pfl torch`
install them for the benchmark alone. A client-round is 5 steps of 20 digits of a multilayer perceptron with 2,410
parameters. Seconds are the processor's, of the process and all its children (Flower's are Ray's actors).
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from coterie.evaluation.digits import read_digits
from tests.benchmarks.report import Figure

PEERS = Path("build/peers/bin/python")
EACH_ROUND, STEPS, BATCH = 100, 5, 20
FEW, MANY = {"flower": 1, "pfl": 2}, {"flower": 4, "pfl": 22}
"""Rounds of two runs, whose difference is without the start."""
PREAMBLE = f"""
import sys
import numpy as np, torch
from torch import nn
torch.set_num_threads(1)
data = np.load(sys.argv[1])
X, Y = torch.from_numpy(data["x"].reshape(len(data["y"]), -1)), torch.from_numpy(data["y"])
ROUNDS, EACH, STEPS, BATCH = int(sys.argv[2]), {EACH_ROUND}, {STEPS}, {BATCH}
def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
def of(device):
    rows = torch.from_numpy(np.random.default_rng(device).integers(0, len(Y), STEPS * BATCH))
    return X[rows], Y[rows]
def train(model, x, y):
    step = torch.optim.SGD(model.parameters(), lr=0.1)
    for at in range(0, len(y), BATCH):
        step.zero_grad()
        nn.functional.cross_entropy(model(x[at : at + BATCH]), y[at : at + BATCH]).backward()
        step.step()
"""
FLOWER = """
from flwr.client import ClientApp, NumPyClient
from flwr.common import Context, ndarrays_to_parameters
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.simulation import run_simulation
def read(model): return [one.detach().numpy() for one in model.parameters()]
class Client(NumPyClient):
    def __init__(self, number): self.number = number
    def fit(self, parameters, config):
        model = net()
        with torch.no_grad():
            for one, values in zip(model.parameters(), parameters): one.copy_(torch.from_numpy(np.array(values)))
        train(model, *of(self.number))
        return read(model), STEPS * BATCH, {}
def client(context): return Client(int(context.node_config["partition-id"])).to_client()
def server(context):
    way = FedAvg(fraction_fit=1.0, fraction_evaluate=0.0, min_fit_clients=EACH, min_available_clients=EACH,
                 initial_parameters=ndarrays_to_parameters(read(net())))
    return ServerAppComponents(strategy=way, config=ServerConfig(num_rounds=ROUNDS))
run_simulation(ServerApp(server_fn=server), ClientApp(client_fn=client), num_supernodes=EACH,
               backend_config={"init_args": {"num_cpus": 2, "include_dashboard": False},
                               "client_resources": {"num_cpus": 1}})
"""
PFL = """
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import ArtificialFederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.internal.ops import pytorch_ops
from pfl.internal.ops.selector import set_framework_module
from pfl.model.pytorch import PyTorchModel
set_framework_module(pytorch_ops)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = net()
    def forward(self, x): return self.body(x)
    def loss(self, x, y, eval=False): return nn.functional.cross_entropy(self.body(x), y)
    def metrics(self, x, y, eval=True): return {}
module = Net()
from pfl.data.federated_dataset import FederatedDataset
dataset = FederatedDataset(lambda user: Dataset(raw_data=list(of(user))),
                           get_user_sampler("random", list(range(EACH * 10))))
central = torch.optim.SGD(module.parameters(), lr=1.0)
model = PyTorchModel(module, torch.optim.SGD, central)
FederatedAveraging().run(
    algorithm_params=NNAlgorithmParams(central_num_iterations=ROUNDS, evaluation_frequency=1000,
                                       train_cohort_size=EACH, val_cohort_size=0),
    backend=SimulatedBackend(training_data=dataset, val_data=None),
    model=model,
    model_train_params=NNTrainHyperParams(local_num_epochs=1, local_learning_rate=0.1, local_batch_size=BATCH),
    model_eval_params=NNEvalHyperParams(local_batch_size=None),
    callbacks=[],
)
"""
PROGRAMS = {"flower": PREAMBLE + FLOWER, "pfl": PREAMBLE + PFL}
SUBREAPER = """
import ctypes, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: what a child leaves behind is waited for here, and so counted
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime)
sys.exit(status)
"""


def measure() -> list[Figure]:
    """Nothing where no peer is installed."""
    return [figure for name in PROGRAMS for figure in _measured(name)] if PEERS.exists() else []


def _measured(name: str) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        images, labels = read_digits()
        data, program = Path(directory, "digits.npz"), Path(directory, f"of_{name}.py")
        np.savez(data, x=images, y=labels)
        program.write_text(PROGRAMS[name])
        few, many = (_cpu_s(program, data, rounds) for rounds in (FEW[name], MANY[name]))
    if few is None or many is None:
        return
    rate = (MANY[name] - FEW[name]) * EACH_ROUND / (many - few)
    yield Figure("mlp, 2,410 parameters, float32", f"{name}, one by one, without its start", rate, RATE)


RATE = "client-rounds a CPU-second"


def _cpu_s(program: Path, data: Path, rounds: int) -> float | None:
    """Processor seconds of a peer; None: it is not installed."""
    command = [sys.executable, "-c", SUBREAPER, str(PEERS), str(program), str(data), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{program.stem} does not run: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return float(done.stdout.split()[-1])
