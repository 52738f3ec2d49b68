import io
import json
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from torch import nn

from coterie.compile import scrub, scrubbed_archive
from coterie.compile.errors import (
    MalformedUpload,
    UnsafeUpload,
    UnsupportedOperator,
    UnsupportedSignature,
    UploadTooLarge,
)
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.signature import check_signature
from coterie.compile.upload import load_upload
from coterie.core.errors import CoterieError

MODEL = "m/models/model.json"
WEIGHTS = "m/data/weights/model_weights_config.json"
SAMPLES = "m/data/sample_inputs/model.pt"
Members = dict[str, bytes]


@pytest.fixture(scope="module")
def members() -> Mapping[str, bytes]:
    """What ``torch.export.save`` writes, by member."""
    batch = torch.export.Dim("batch", min=1)
    module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))
    program = torch.export.export(module, (torch.zeros(2, 4),), dynamic_shapes=({0: batch},))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    with zipfile.ZipFile(buffer) as archive:
        return {"m/" + name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def written(path: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def edited(members: Mapping[str, bytes], name: str, edit: Callable[[str], str]) -> Members:
    changed = edit(members[name].decode())
    assert changed != members[name].decode()
    return {**members, name: changed.encode()}


def first_node(members: Mapping[str, bytes], **fields: object) -> Members:
    program = json.loads(members[MODEL])
    program["graph_module"]["graph"]["nodes"][0].update(fields)
    return {**members, MODEL: json.dumps(program).encode()}


class Bomb:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.mark,)


def test_plain_upload_is_loaded(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    signature = check_signature(load_upload(written(tmp_path / "m.pt2", members)), CrossEntropy())
    assert [spec.shape for spec in signature.inputs] == [(4,)]
    assert signature.output.shape == (3,)


def test_pickled_samples_are_never_read(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    mark = tmp_path / "executed"
    hostile = {**members, SAMPLES: pickle.dumps(Bomb(mark))}
    load_upload(written(tmp_path / "m.pt2", hostile))
    assert not mark.exists()


def test_pickled_tensor_is_refused(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    mark = tmp_path / "executed"
    hostile = edited(members, WEIGHTS, lambda text: text.replace('"use_pickle": false', '"use_pickle": true', 1))
    with pytest.raises(UnsafeUpload, match="pickled"):
        load_upload(written(tmp_path / "m.pt2", {**hostile, "m/data/weights/weight_0": pickle.dumps(Bomb(mark))}))
    assert not mark.exists()


@pytest.mark.parametrize(
    "expression",
    ["__import__('os').getcwd()", "Integer(9)**Integer(9)**Integer(9)", "Symbol('s1').func", "print(1)", ""],
)
def test_size_that_is_code_is_refused(tmp_path: Path, members: Mapping[str, bytes], expression: str) -> None:
    symbol = next(key for key in json.loads(members[MODEL])["range_constraints"])
    plain = f"Symbol('{symbol}', positive=True, integer=True)"
    hostile = edited(members, MODEL, lambda text: text.replace(plain, expression, 1))
    with pytest.raises(UnsafeUpload, match="size expression"):
        load_upload(written(tmp_path / "m.pt2", hostile))


@pytest.mark.parametrize(
    "target",
    [
        "torch.hub.load",
        "torch.load",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.set_.source_Storage",
        "torch.ops.higher_order.cond",
        "math.sqrt",
        "_operator.attrgetter",
        "builtins.eval",
        "#aoti:x",
    ],
)
def test_operator_outside_the_vocabulary_is_refused(tmp_path: Path, members: Mapping[str, bytes], target: str) -> None:
    with pytest.raises(UnsupportedOperator) as caught:
        load_upload(written(tmp_path / "m.pt2", first_node(members, target=target)))
    assert caught.value.fields["module"] == "0"


def test_guards_are_dropped(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    mark = tmp_path / "executed"
    program = json.loads(members[MODEL])
    program["guards_code"] = [f"open({str(mark)!r}, 'w')"]
    loaded = load_upload(written(tmp_path / "m.pt2", {**members, MODEL: json.dumps(program).encode()}))
    loaded.module()(torch.zeros(3, 4))
    assert not mark.exists()


def test_tree_of_foreign_types_is_refused(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    hostile = edited(members, MODEL, lambda text: text.replace("builtins.tuple", "collections.OrderedDict"))
    with pytest.raises(UnsafeUpload, match="OrderedDict"):
        load_upload(written(tmp_path / "m.pt2", hostile))


def test_name_that_is_code_is_refused(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    with pytest.raises(UnsafeUpload, match="called"):
        load_upload(written(tmp_path / "m.pt2", first_node(members, name="x=__import__('os')")))


@pytest.mark.parametrize(
    "name",
    [
        "m/data/aotinductor/model/a.so",
        "m/data/constants/custom_obj_0",
        "m/data/constants/opaque_obj_0",
        "m/data/weights/model.pt",
        "m/extra/notes",
        "m/../../etc/passwd",
        "/etc/passwd",
    ],
)
def test_member_that_does_not_belong_is_refused(tmp_path: Path, members: Mapping[str, bytes], name: str) -> None:
    with pytest.raises(UnsafeUpload, match="member"):
        load_upload(written(tmp_path / "m.pt2", {**members, name: b"x"}))


def test_compressed_upload_is_refused_unread(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    bomb = {**members, "m/data/weights/weight_0": bytes(64 << 20)}
    path = written(tmp_path / "m.pt2", bomb, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(UnsafeUpload, match="compressed"):
        load_upload(path)


def test_encrypted_upload_is_malformed(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    path = written(tmp_path / "m.pt2", members)
    content = bytearray(path.read_bytes())
    position = -1
    while (position := content.find(b"PK\x01\x02", position + 1)) >= 0:
        content[position + 8] |= 1  # the flag of encryption in the directory's entry
    path.write_bytes(content)
    with pytest.raises(MalformedUpload, match="encrypted"):
        load_upload(path)


def test_parameter_that_no_file_can_name_is_refused(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    renamed = {
        name: content.replace(b'"0.weight"', b'"__metadata__"') if name.endswith(".json") else content
        for name, content in members.items()
    }
    with pytest.raises(UnsupportedSignature, match="__metadata__"):
        check_signature(load_upload(written(tmp_path / "m.pt2", renamed)), CrossEntropy())


def test_too_many_members_are_refused(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    many = {
        **members,
        **{f"m/data/weights/weight_{number}": b"" for number in range(10, scrubbed_archive.MAX_MEMBERS + 10)},
    }
    with pytest.raises(UploadTooLarge):
        load_upload(written(tmp_path / "m.pt2", many))


@pytest.mark.parametrize("name", [MODEL, WEIGHTS, "m/data/weights/weight_0"])
def test_missing_member_is_malformed(tmp_path: Path, members: Mapping[str, bytes], name: str) -> None:
    with pytest.raises(MalformedUpload):
        load_upload(written(tmp_path / "m.pt2", {key: value for key, value in members.items() if key != name}))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a zip at all", b"\x80\x04K\x01."])
def test_other_files_are_malformed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.pt2"
    path.write_bytes(content)
    with pytest.raises(MalformedUpload):
        load_upload(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_truncated_upload_is_refused(tmp_path: Path, members: Mapping[str, bytes], share: float) -> None:
    path = written(tmp_path / "m.pt2", members)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    # What is left may end in the archive that the pickled samples are, which is one of other members.
    with pytest.raises((MalformedUpload, UnsafeUpload)):
        load_upload(path)


@pytest.mark.parametrize("size", [10**12, 1 << 34, -4])
def test_parameter_that_claims_more_than_is_stored_is_refused(
    tmp_path: Path, members: Mapping[str, bytes], size: int
) -> None:
    """With strides of 0, a few bytes would pass for any shape."""
    listed = json.loads(members[WEIGHTS])
    layout = next(iter(listed["config"].values()))["tensor_meta"]
    layout["sizes"][0]["as_int"] = size
    layout["strides"][0]["as_int"] = 0
    with pytest.raises(MalformedUpload):
        load_upload(written(tmp_path / "m.pt2", {**members, WEIGHTS: json.dumps(listed).encode()}))


@pytest.mark.parametrize(("size", "error"), [(1 << 40, UploadTooLarge), (-1, MalformedUpload)])
def test_value_of_absurd_shape_is_refused(
    tmp_path: Path, members: Mapping[str, bytes], size: int, error: type[CoterieError]
) -> None:
    program = json.loads(members[MODEL])
    values = program["graph_module"]["graph"]["tensor_values"]
    next(value for value in values.values())["sizes"][-1] = {"as_int": size}
    with pytest.raises(error):
        load_upload(written(tmp_path / "m.pt2", {**members, MODEL: json.dumps(program).encode()}))


def test_graph_of_absurd_depth_is_refused(tmp_path: Path, members: Mapping[str, bytes]) -> None:
    program = json.loads(members[MODEL])
    graph = program["graph_module"]["graph"]
    graph["nodes"] = graph["nodes"] * (scrub.MAX_NODES // len(graph["nodes"]) + 1)
    with pytest.raises(UploadTooLarge, match="operators"):
        load_upload(written(tmp_path / "m.pt2", {**members, MODEL: json.dumps(program).encode()}))


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        ("torch.ops.aten._unique2.default", "depends on the data"),
        ("torch.ops.torchvision.nms.default", "boxes"),
        ("torch.ops.aten.fft_rfft.default", "cosines"),
        ("torch.ops.aten.linalg_inv.default", "buffer"),
        ("torch.ops.higher_order.cond", "torch.where"),
        ("torch.ops.mine.swish.default", "functions of each element"),
    ],
)
def test_operator_is_refused_with_what_to_write_instead(
    tmp_path: Path, members: Mapping[str, bytes], target: str, advice: str
) -> None:
    with pytest.raises(UnsupportedOperator, match=advice):
        load_upload(written(tmp_path / "m.pt2", first_node(members, target=target)))


class InHalf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            y = self.head(x)
        return y.float()


def test_autocast_is_refused_with_the_line_within(tmp_path: Path) -> None:
    """As it stands in a file that PyTorch itself exported."""
    torch.export.save(torch.export.export(InHalf(), (torch.zeros(2, 4),)), tmp_path / "m.pt2")
    with pytest.raises(UnsupportedOperator, match=r"leave torch\.autocast out") as caught:
        load_upload(tmp_path / "m.pt2")
    assert "y = self.head(x)" in str(caught.value.fields["line"])


class Taking(nn.Module):
    """Takes numbers out of tensors, or as many as the data say."""

    def __init__(self, take: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.take, self.head = take, nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.take(x))
        return logits


@pytest.mark.parametrize(
    ("take", "operator"),
    [
        (lambda x: x * x.max().item(), "item"),
        (lambda x: x * x.max().long().item(), "item"),
        (lambda x: x * x.nonzero().sum(), "nonzero"),
        (lambda x: x * torch.masked_select(x, x > 0).sum(), "masked_select"),
    ],
)
def test_what_depends_on_data_is_told_with_its_line(
    tmp_path: Path, take: Callable[[torch.Tensor], torch.Tensor], operator: str
) -> None:
    """As it stands in a file that PyTorch itself exported."""
    torch.export.save(torch.export.export(Taking(take), (torch.ones(2, 4),)), tmp_path / "m.pt2")
    with pytest.raises(UnsupportedOperator, match=rf"{operator}.*test_upload\.py:\d+: "):
        load_upload(tmp_path / "m.pt2")


@pytest.mark.parametrize(
    "program",
    [
        "[]",
        "null",
        "{}",
        '{"range_constraints": 1}',
        '{"graph_module": 1}',
        "[" * 100_000,
        '{"graph_module": {"graph": {"nodes": [{}]}}}',
    ],
)
def test_nonsense_in_the_program_is_a_coded_error(tmp_path: Path, members: Mapping[str, bytes], program: str) -> None:
    with pytest.raises(CoterieError) as caught:
        load_upload(written(tmp_path / "m.pt2", {**members, MODEL: program.encode()}))
    assert caught.value.code == "compile.malformed_upload"
