"""More files made to harm: specs, HDF5, and weights of networks. See ``malicious``."""

import io
import pickle
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support.hostile.malicious import SAFETENSORS, Payload, case, cases, png, zipped


def as_spec(folder: Path, content: bytes) -> list[str]:
    (folder / "spec.yaml").write_bytes(content)
    (folder / "data").mkdir(exist_ok=True)
    place = ["--out", str(folder / "out"), "--data", str(folder / "data"), "--quiet"]
    return ["run", str(folder / "spec.yaml"), *place]


LAUGHS = "a0: &a0 [ha, ha]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
GIVEN = "name: x\nevidence: ['{}']\n"
cases("yaml", {
    "tag that calls": lambda canary: f"name: !!python/object/apply:os.mkdir ['{canary}']".encode(),
    "tag that makes": lambda canary: b"name: !!python/object:os.system {}",
    "tag of a module": lambda canary: b"name: !!python/module:antigravity",
    "billion laughs": lambda canary: LAUGHS.encode(),
    "deep nesting": lambda canary: b"[" * 20_000,
    "too large": lambda canary: b"#" * (2 << 20),
    "NUL": lambda canary: b"name: \0",
    "not UTF-8": lambda canary: b"name: \xff\xfe\xfa",
}, as_spec)  # fmt: skip
cases("spec", {
    "..": lambda canary: GIVEN.format("../../x").encode(),
    "absolute": lambda canary: GIVEN.format("/etc/passwd").encode(),
    "address": lambda canary: GIVEN.format("https://host/x").encode(),
    "chained address": lambda canary: GIVEN.format("zip::s3://bucket/x").encode(),
    "NUL": lambda canary: b'name: x\nevidence: ["a\\0b"]\n',
    "home": lambda canary: GIVEN.format("~/x").encode(),
}, as_spec)  # fmt: skip


@case("spec: link")
def _link(folder: Path, canary: Path) -> list[str]:
    (folder / "data").mkdir()
    (folder / "data" / "a").symlink_to(folder)
    return as_spec(folder, GIVEN.format("a").encode())


SHAPES = """
name: x
dataset: {name: shapes3d, path: x.h5}
pipeline: {name: bottlenecks, models: [{}]}
"""


def hdf5(name: str) -> Callable[[Callable[[Any, Path], None]], None]:
    """A file of 3dshapes, filled by a function."""

    def add(fill: Callable[[Any, Path], None]) -> None:
        @case(f"hdf5: {name}")
        def make(folder: Path, canary: Path) -> list[str]:
            import h5py  # noqa: PLC0415  optional

            command = as_spec(folder, SHAPES.encode())
            with h5py.File(folder / "other.h5", "w") as file:
                file["labels"] = np.zeros((30, 6))
            with h5py.File(folder / "data" / "x.h5", "w") as file:
                fill(file, folder)
            return command

    return add


@hdf5("external link")
def _external(file: Any, folder: Path) -> None:
    import h5py  # noqa: PLC0415

    file["labels"] = h5py.ExternalLink(str(folder / "other.h5"), "labels")


@hdf5("soft link")
def _soft(file: Any, folder: Path) -> None:
    import h5py  # noqa: PLC0415

    file["there"] = np.zeros((30, 6))
    file["labels"] = h5py.SoftLink("/there")


@hdf5("virtual values")
def _virtual(file: Any, folder: Path) -> None:
    import h5py  # noqa: PLC0415

    layout = h5py.VirtualLayout((30, 6), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "labels", (30, 6))
    file.create_virtual_dataset("labels", layout)


@hdf5("values in another file")
def _elsewhere(file: Any, folder: Path) -> None:
    file.create_dataset("labels", (30, 6), "f8", external=[("/etc/passwd", 0, 1440)])


@hdf5("foreign decoder")
def _decoder(file: Any, folder: Path) -> None:
    import h5py  # noqa: PLC0415

    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((30, 6))
    plan.set_filter(305, h5py.h5z.FLAG_OPTIONAL)
    space = h5py.h5s.create_simple((30, 6))
    h5py.h5d.create(file.id, b"labels", h5py.h5t.IEEE_F64LE, space, plan).write(
        h5py.h5s.ALL, h5py.h5s.ALL, np.zeros((30, 6))
    )


@hdf5("references")
def _references(file: Any, folder: Path) -> None:
    import h5py  # noqa: PLC0415

    file["there"] = np.zeros(3)
    file.create_dataset("labels", data=[[file["there"].ref] * 6] * 30, dtype=h5py.ref_dtype)


@hdf5("more than is there")
def _claimed(file: Any, folder: Path) -> None:
    file.create_dataset("labels", (480_000, 6), "f8", chunks=(1000, 6))


def as_weights(name: str) -> Callable[[Path, bytes], list[str]]:
    def place(folder: Path, content: bytes) -> list[str]:
        data = folder / "masks"
        data.mkdir()
        (data / "a.png").write_bytes(png((8, 8)))
        (data / "samples.csv").write_text("image,street\na.png,1\n")
        (data / "masks.csv").write_text("image,concept,file\na.png,car,a.png\n")
        (folder / name).write_bytes(content)
        return ["dissect", "--dataset", "mask_folder", "--data", str(data), "--model", "test_resnet", "--weights",
                str(folder / name), "--out", str(folder / "out"), "--quiet"]  # fmt: skip

    return place


def saved(content: Any, **how: Any) -> bytes:
    import torch  # noqa: PLC0415  optional, and slow

    stream = io.BytesIO()
    torch.save(content, stream, **how)
    return stream.getvalue()


def sparse(canary: Path) -> bytes:
    import torch  # noqa: PLC0415

    return saved({"a": torch.eye(3).to_sparse()})


def stretched(canary: Path) -> bytes:
    import torch  # noqa: PLC0415

    return saved({"a": torch.zeros(1).expand(1 << 20, 1 << 20)})


def tarred(canary: Path) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("storages", "tensors", "pickle"):
            content = pickle.dumps(Payload(canary))
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


def archived(canary: Path, *more: str, listing: bytes | None = None) -> bytes:
    program = pickle.dumps(Payload(canary), 2) if listing is None else listing
    members = {"archive/data.pkl": program, "archive/version": b"3\n"}
    return zipped(members | dict.fromkeys((f"archive/{name}" for name in more), program))


def by_number(canary: Path) -> bytes:
    """The call is hidden behind a protocol that puts names on the stack."""
    return archived(canary, listing=pickle.dumps(Payload(canary), 4))


CHECKPOINTS: dict[str, Callable[[Path], bytes]] = {
    "a call": archived,
    "a call by number": by_number,
    "a call beside tensors": lambda canary: saved({"a": np.zeros(2), "b": Payload(canary)}),
    "old form": lambda canary: saved(Payload(canary), _use_new_zipfile_serialization=False),
    "older form, a tar": tarred,
    "a program": lambda canary: archived(canary, "constants.pkl", "code/__torch__.py"),
    "a bare pickle": lambda canary: pickle.dumps(Payload(canary)),
    "sparse": sparse,
    "stretched": stretched,
    "nested": lambda canary: saved({"epoch": 3, "state_dict": {}}),
    "a list": lambda canary: saved([1, 2]),
    "packed": lambda canary: zipped({"archive/data.pkl": bytes(9999)}, 8),
    "broken listing": lambda canary: archived(canary, listing=b"\x80\x02}q\x00(\xff"),
    "cut off": lambda canary: archived(canary)[:-30],
    "longer than the file": lambda canary: _longer(canary),
}
cases("pt", CHECKPOINTS, as_weights("w.pt"))
cases("pth", {"a call": archived}, as_weights("w.pth"))
for suffix in ("pt2", "mar", "ckpt", "bin", "pkl", "tar"):
    cases(
        suffix,
        {"a program": lambda canary: archived(canary, "code/x.py")},
        as_weights(f"w.{suffix}"),
    )
cases("weights", SAFETENSORS, as_weights("w.safetensors"))


def _longer(canary: Path) -> bytes:
    raw = bytearray(archived(canary))
    for start in (raw.index(b"PK\x03\x04") + 22, raw.index(b"PK\x01\x02") + 24):
        struct.pack_into("<I", raw, start, 1 << 31)
    return bytes(raw)
