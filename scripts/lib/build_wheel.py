# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""build_wheel.py ROOT LIBRARY OUT: a wheel with a self-contained libDeploC.so.

setuptools makes the wheel of the Python package, from the files that git knows.
The library and the licenses of what is inside it are added, and the wheel is
written again with sorted names and fixed times, so that it is reproducible.
"""

import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TAG = "py3-none-linux_x86_64"
LIMIT_BYTES = 25_000_000
# The C library of Debian 12; Ubuntu 22.10 and Fedora 37 have it too.
GLIBC = (2, 36)
# What every Linux with that C library has.
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
# Debian's packages of what is linked into the library.
THIRD_PARTY = ("libmlir-22-dev", "llvm-22-dev", "libzstd-dev", "zlib1g-dev", "nlohmann-json3-dev")
_VERSION = re.compile(r"\b((?:GLIBC|GLIBCXX|CXXABI|GCC)_(\d[\d.]*))\b")
_NEEDED = re.compile(r"NEEDED\s+(?:Shared library: \[)?([^\s\]]+)")


def fail(message: str) -> None:
    sys.exit(f"error: {message}")


def missing_elsewhere(dynamic: str) -> list[str]:
    """What a Linux with `GLIBC` may lack, from the text of `objdump -p`: shared
    libraries and versions of symbols."""
    lacking = sorted(set(_NEEDED.findall(dynamic)) - SYSTEM_LIBRARIES)
    for name, number in sorted(set(_VERSION.findall(dynamic))):
        version = tuple(int(part) for part in number.split("."))
        if not name.startswith("GLIBC_") or version > GLIBC:
            lacking.append(name)
    return lacking


def check_library(library: Path) -> None:
    """Ends the program unless `library` loads wherever the wheel may be installed."""
    objdump = shutil.which("objdump") or shutil.which("llvm-objdump-22") or "objdump"
    dynamic = subprocess.run([objdump, "-p", library], capture_output=True, text=True, check=True)
    lacking = missing_elsewhere(dynamic.stdout)
    if lacking:
        glibc = ".".join(map(str, GLIBC))
        fail(f"{library} needs {', '.join(lacking)}, which a Linux with glibc {glibc} may lack")


def pure_wheel(root: Path, folder: Path) -> Path:
    """The wheel of the Python package alone, of what git knows of it."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--", "python/pyproject.toml", "python/README.md",
         "python/deplo"],
        capture_output=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.decode().split("\0"):
        if name and (root / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, target)
    build = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
    made = subprocess.run(
        [sys.executable, "-c", build], cwd=folder / "python", capture_output=True, text=True
    )
    if made.returncode:
        fail(f"setuptools made no wheel:\n{made.stderr or made.stdout}")
    return folder / made.stdout.split()[-1]


def third_party_licenses() -> dict[str, bytes]:
    """By package, the licenses of what is linked into the library."""
    files = {name: Path(f"/usr/share/doc/{name}/copyright") for name in THIRD_PARTY}
    return {name: file.read_bytes() for name, file in files.items() if file.is_file()}


def contents(pure: Path, root: Path, library: Path) -> dict[str, bytes]:
    """The files of the finished wheel, without its RECORD."""
    with zipfile.ZipFile(pure) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    info = next(name for name in files if name.endswith(".dist-info/WHEEL")).rpartition("/")[0]
    del files[f"{info}/RECORD"]
    text = files[f"{info}/WHEEL"].decode()
    text = re.sub(r"(?m)^Root-Is-Purelib:.*$", "Root-Is-Purelib: false", text)
    files[f"{info}/WHEEL"] = re.sub(r"(?m)^Tag:.*$", f"Tag: {TAG}", text).encode()
    files["deplo/lib/libDeploC.so"] = library.read_bytes()
    files[f"{info}/licenses/LICENSE"] = (root / "LICENSE").read_bytes()
    for name, license_text in third_party_licenses().items():
        files[f"{info}/licenses/{name}.txt"] = license_text
    return files


def record(files: dict[str, bytes], name: str) -> bytes:
    """RECORD: the path, hash and size of each file."""
    lines = []
    for path, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{name},,\n"]).encode()


def archive(files: dict[str, bytes]) -> bytes:
    """A zip of `files`, its bytes a function of theirs alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, data)
    return buffer.getvalue()


def main(root: Path, library: Path, out: Path) -> None:
    check_library(library)
    with tempfile.TemporaryDirectory() as folder:
        pure = pure_wheel(root, Path(folder))
        files = contents(pure, root, library)
        name = f"{'-'.join(pure.name.split('-')[:2])}-{TAG}.whl"
    listed = next(path for path in files if path.endswith("/WHEEL")).replace("/WHEEL", "/RECORD")
    files[listed] = record(files, listed)
    data = archive(files)
    if len(data) > LIMIT_BYTES:
        fail(f"the wheel has {len(data)} bytes; {LIMIT_BYTES} are allowed")
    out.mkdir(parents=True, exist_ok=True)
    part = out / f"{name}.part"
    part.write_bytes(data)
    os.replace(part, out / name)
    print(f"-- {out / name}: {len(data) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
