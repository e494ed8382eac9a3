"""Generate what is committed and follows from other files: stubs, texts of the documentation, catalogues of messages.

python tools/regenerate.py           write what changed
python tools/regenerate.py --check   compare byte by byte; exit 1 and name the files that differ
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "proto"
DOCS = ROOT.parent / "docs"
PACKAGE = Path("noughts_proto/v1")
SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


def proto_files(root: Path) -> list[str]:
    """The .proto files below `root`, as import paths, in a fixed order."""
    return [path.relative_to(root).as_posix() for path in sorted((root / PACKAGE).glob("*.proto"))]


def stub_files(root: Path) -> dict[str, bytes]:
    """The content of each stub below `root`, by its path from there."""
    folder = root / PACKAGE
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name.endswith(SUFFIXES)
    }


def generate(root: Path, target: Path) -> None:
    """Generate all stubs of the .proto files below `root` into `target`; SystemExit when protoc fails."""
    scripts = Path(sysconfig.get_path("scripts"))
    packages = Path(sysconfig.get_path("purelib"))
    command = [
        *(sys.executable, "-m", "grpc_tools.protoc"),
        f"--plugin=protoc-gen-mypy={scripts / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={scripts / 'protoc-gen-mypy_grpc'}",
        f"--proto_path={root}",
        f"--proto_path={packages}",  # google/rpc/status.proto, from googleapis-common-protos
        f"--python_out={target}",
        f"--grpc_python_out={target}",
        f"--mypy_out=quiet:{target}",
        f"--mypy_grpc_out=quiet:{target}",
        *proto_files(root),
    ]
    finished = subprocess.run(command, check=False)
    if finished.returncode:
        raise SystemExit(f"protoc failed with status {finished.returncode}")


def differences(committed: dict[str, bytes], generated: dict[str, bytes]) -> list[str]:
    """A line for each stub that is missing, has no .proto file any more, or differs."""
    lines = []
    for path in sorted(committed.keys() | generated.keys()):
        if path not in committed:
            lines.append(f"proto/{path}: missing")
        elif path not in generated:
            lines.append(f"proto/{path}: its .proto file is gone")
        elif committed[path] != generated[path]:
            lines.append(f"proto/{path}: differs from what its .proto file gives")
    return lines


def write(root: Path, generated: dict[str, bytes]) -> None:
    """Make the stubs below `root` those of `generated`: write what changed, remove what is left over."""
    committed = stub_files(root)
    for path in committed.keys() - generated.keys():
        (root / path).unlink()
    for path, content in generated.items():
        if committed.get(path) != content:
            (root / path).write_bytes(content)
            print(f"wrote proto/{path}")


def pages(docs: Path) -> dict[Path, str]:
    """The pages below `docs` whose generated texts are out of date, with what they should hold."""
    # They are read from the code, whose stubs can just have been written.
    sys.path.insert(0, str(docs.parent))
    from tools.generated_pages import with_texts

    found = {}
    for path in sorted(docs.rglob("*.md")):
        source = path.read_text(encoding="utf-8")
        if (wanted := with_texts(source)) != source:
            found[path] = wanted
    return found


def catalogues() -> dict[Path, bytes]:
    """The catalogues of the website's messages that are out of date, with what they should hold."""
    sys.path.insert(0, str(DOCS.parent))
    from tools.catalogues import updated_catalogues

    return {path: content for path, content in updated_catalogues().items() if content != path.read_bytes()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    arguments = parser.parse_args()

    if not proto_files(ROOT):
        raise SystemExit(f"no .proto files in {ROOT / PACKAGE}")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        generate(ROOT, target)
        generated = stub_files(target)

    if not arguments.check:
        write(ROOT, generated)
        for path, source in pages(DOCS).items():
            path.write_text(source, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")
        for path, content in catalogues().items():
            path.write_bytes(content)
            print(f"wrote {path.relative_to(DOCS.parent)}")
        return 0
    lines = differences(stub_files(ROOT), generated)
    lines += [f"{path.relative_to(DOCS.parent)}: its generated text is out of date" for path in pages(DOCS)]
    lines += [f"{path.relative_to(DOCS.parent)}: it lacks messages, or has old ones" for path in catalogues()]
    if lines:
        print(*lines, "Run `make stubs` and commit what it writes.", sep="\n", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
