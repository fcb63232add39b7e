"""The archive around a model: members with digests, written atomically, read within limits.

Writing goes to a temporary name in the same directory, is flushed to the disk and then renamed, so that whoever opens
the path sees the old file or the new one, whatever happens in between. Reading checks, in this order: that it is an
archive, that its manifest has the digest in the archive's comment, that the members are those the manifest names and no
larger than the limit allows, and that each has its digest. Nothing is unpacked to the disk.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["FORMAT", "InvalidModelFile", "read_members", "write_atomically", "write_members"]

FORMAT = 1  # raised when a reader of this version could misread what is written
_MANIFEST = "manifest.json"
_MANIFEST_BYTES = 1 << 24
_EPOCH = (1980, 1, 1, 0, 0, 0)  # equal models make equal files


class InvalidModelFile(ValueError):
    """The file is no model of this library, is damaged, too new, too large, or names what may not be loaded."""


def write_members(path: Path, members: Mapping[str, bytes], versions: Mapping[str, str]) -> None:
    """Write an archive of the members, whole or not at all."""
    entries = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
    }
    manifest = json.dumps({"format": FORMAT, "versions": dict(versions), "members": entries}, indent=1).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {_MANIFEST: manifest, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
        archive.comment = hashlib.sha256(manifest).hexdigest().encode()
    write_atomically(path, buffer.getbuffer())


def write_atomically(path: Path, content: Any) -> None:
    """Write a file whole or not at all: a temporary name, flushed to the disk, then renamed."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the path of a file, such as {path / 'model.softmargin'}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The directory {path.parent} does not exist; create it first.")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(path))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _permissions(path: Path) -> int:
    """Those of the file that is replaced, else those any new file gets (a temporary file is private)."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_directory(directory: Path) -> None:
    """The rename itself on the disk, where directories can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_members(path: Path, max_bytes: int) -> dict[str, bytearray]:
    """The members of an archive written by ``write_members``, checked."""
    content = io.BytesIO(path.read_bytes())
    try:
        with zipfile.ZipFile(content) as archive:
            return _members(archive, max_bytes)
    except InvalidModelFile as error:
        raise InvalidModelFile(f"{path}: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, ValueError, NotImplementedError) as error:
        raise InvalidModelFile(f"{path} is not a softmargin model file, or it is damaged ({error}).") from error
    except (OSError, RuntimeError, OverflowError, MemoryError, RecursionError) as error:
        raise InvalidModelFile(f"{path} is damaged ({error}).") from error


def _members(archive: zipfile.ZipFile, max_bytes: int) -> dict[str, bytearray]:
    infos = {info.filename: info for info in archive.infolist()}
    if len(infos) != len(archive.infolist()):
        raise InvalidModelFile("the archive names a member twice.")
    if _MANIFEST not in infos:
        raise InvalidModelFile("this is no softmargin model file: it has no manifest.")
    if infos[_MANIFEST].file_size > _MANIFEST_BYTES:
        raise InvalidModelFile("the manifest is too large to be one.")
    content = archive.read(_MANIFEST)
    manifest = json.loads(content)
    _require_readable(manifest)
    if hashlib.sha256(content).hexdigest().encode() != archive.comment:
        raise InvalidModelFile("the manifest does not have its digest: the file is damaged.")
    entries = manifest["members"]
    if set(entries) != set(infos) - {_MANIFEST}:
        raise InvalidModelFile("the members are not those of the manifest: the file is damaged.")
    total = sum(int(entry["bytes"]) for entry in entries.values())
    if total > max_bytes:
        raise InvalidModelFile(f"the model takes {total} bytes, the limit is max_bytes={max_bytes}; raise it to load.")
    return {name: _checked(archive, infos[name], entry) for name, entry in entries.items()}


def _require_readable(manifest: Any) -> None:
    number = manifest["format"]
    if not isinstance(number, int) or number < 1:
        raise InvalidModelFile(f"the format number is {number!r}.")
    if number > FORMAT:
        writer = str(manifest.get("versions", {}).get("softmargin", "a later version"))[:40]
        raise InvalidModelFile(
            f"the file has format {number} and was written by softmargin {writer}; this version reads formats up to "
            f"{FORMAT}. Upgrade softmargin, or save the model again with this version."
        )


def _checked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: Mapping[str, Any]) -> bytearray:
    size = int(entry["bytes"])
    if info.file_size != size:
        raise InvalidModelFile(f"{info.filename} does not have its size: the file is damaged.")
    content = bytearray()
    with archive.open(info) as member:
        while part := member.read(1 << 20):
            content += part
            if len(content) > size:
                break
    if len(content) != size:
        raise InvalidModelFile(f"{info.filename} does not have its size: the file is damaged.")
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise InvalidModelFile(f"{info.filename} does not have its digest: the file is damaged.")
    return content
