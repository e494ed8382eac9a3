"""Write a CycloneDX bill of materials for each lock and for the image, and SHA256SUMS of all files next to them.

python -m tools.bill_of_materials dist     (`make wheel` builds the wheel in dist first)

The same wheel, locks and Dockerfile give the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.utils import parse_wheel_filename

from tools.locks import LOCKS, ROOT, LockedPackage, read_lock

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "noughts")


def main(folder: Path) -> None:
    """Write all files into the folder, which holds the wheel."""
    (wheel,) = folder.glob("*.whl")
    name, version, _, _ = parse_wheel_filename(wheel.name)
    product = _component(
        ComponentType.APPLICATION, PackageURL("pypi", None, name, str(version)), hashes=[_sha256(wheel)]
    )
    boms = {purpose: _bom_of(product, read_lock(lock)) for purpose, lock in LOCKS.items()}
    boms["image"] = _image_bom(product)
    for purpose, bom in boms.items():
        text = JsonV1Dot6(bom).output_as_string(indent=2)
        (folder / f"{name}-{version}-{purpose}.cdx.json").write_text(f"{text}\n", encoding="utf-8")
    files = sorted(path for path in folder.iterdir() if path.name.endswith((".whl", ".cdx.json")))
    sums = "".join(f"{_sha256(path)}  {path.name}\n" for path in files)
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _component(kind: ComponentType, purl: PackageURL, *, hashes: Iterable[str] = (), marker: str = "") -> Component:
    return Component(
        name=purl.name,
        version=purl.version,
        type=kind,
        bom_ref=str(purl),
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hash_value) for hash_value in hashes],
        properties=[Property(name="noughts:marker", value=marker)] if marker else (),
    )


def _bom_of(product: Component, packages: Sequence[LockedPackage], subject: Component | None = None) -> Bom:
    """Return the bill of a subject (default: the product): its packages, and which packages each of them requires."""
    subject = subject or product
    bom = Bom(metadata=BomMetaData(component=subject, timestamp=_timestamp()))
    components = [
        _component(
            ComponentType.LIBRARY,
            PackageURL("pypi", None, package.name, package.version),
            hashes=package.hashes,
            marker=str(package.requirement.marker or ""),
        )
        for package in packages
    ]
    for component in components:
        bom.components.add(component)
    for parent in (product, *components):
        pairs = zip(components, packages, strict=True)
        bom.register_dependency(parent, [child for child, package in pairs if parent.name in package.parents])
    everything = sorted(
        f"{component.bom_ref} {sorted(component_hash.content for component_hash in component.hashes)}"
        for component in (product, *bom.components)
    )
    bom.serial_number = uuid.uuid5(_NAMESPACE, "\n".join(everything))
    return bom


def _image_bom(product: Component) -> Bom:
    """Return the bill of the image: its base, the wheel, and the packages of the runtime lock that Linux installs."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    base = re.search(r"^ARG BASE=(\w+):(([\d.]+)\S*)$", dockerfile, re.MULTILINE)
    assert base is not None, "Dockerfile names no base image"
    environment = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{base[3]}.0",
        "python_version": base[3],
        "sys_platform": "linux",
    }
    installed = [
        package
        for package in read_lock(LOCKS["runtime"])
        if package.requirement.marker is None or package.requirement.marker.evaluate(environment)
    ]
    image = _component(ComponentType.CONTAINER, PackageURL("docker", None, product.name, product.version))
    base_image = _component(ComponentType.CONTAINER, PackageURL("docker", None, base[1], base[2]))
    bom = _bom_of(product, installed, image)
    for component in (product, base_image):
        bom.components.add(component)
    bom.register_dependency(image, [product, base_image])
    return bom


def _timestamp() -> datetime:
    return datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
