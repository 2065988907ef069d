"""The form of a file: what it is, a digest, a header in JSON, and sections of bytes.

    offset  bytes   what
    0       8       MAGIC
    8       4       the version of this form, little-endian
    12      32      SHA-256 of all that follows
    44      8       the length of the header, little-endian
    52      ...     the header: JSON in UTF-8, an object whose "sections" are [[name, length], ...]
    ...     ...     the sections, in that order, with nothing between or behind them

Nothing of a file is executed or unpickled here. The digest finds damage; it proves nothing about who wrote the file.
"""

import contextlib
import hashlib
import json
import os
import stat
import struct
import tempfile

from ..common.errors import ExportError

MAGIC = b"\x89WGT\r\n\x1a\n"  # eight bits, two ends of line and an end of text: what a transfer as text damages
VERSION = 1
HEAD = struct.Struct("<8sI32sQ")
COMMON = struct.Struct("<8sI")


def packed_file(head, sections):
    """The bytes of a file. head: what JSON holds; sections: {name: bytes}."""
    told = {**head, "sections": [[name, len(data)] for name, data in sections.items()]}
    header = json.dumps(told, separators=(",", ":"), allow_nan=False).encode()
    rest = b"".join([len(header).to_bytes(8, "little"), header, *sections.values()])
    return COMMON.pack(MAGIC, VERSION) + hashlib.sha256(rest).digest() + rest


def opened(data, name):
    """-> (header, {section: bytes}) of the bytes of a file; ExportError where they are not as `packed_file` wrote them.

    name: what the file is called in messages.
    """
    if not data:
        raise ExportError(f"{name} is empty")
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise ExportError(f"{name} is no file that f.export wrote: it begins with {bytes(data[:8])!r}")
    if len(data) < COMMON.size:
        raise ExportError(f"{name} is cut off: it has {len(data)} bytes")
    _, version = COMMON.unpack_from(data)
    if version != VERSION:
        raise ExportError(f"{name} is of version {version} of the format, and this Wengert reads version {VERSION}")
    if len(data) < HEAD.size:
        raise ExportError(f"{name} is cut off: it has {len(data)} bytes")
    _, _, digest, length = HEAD.unpack_from(data)
    if hashlib.sha256(memoryview(data)[HEAD.size - 8 :]).digest() != digest:
        raise ExportError(f"{name} is damaged or cut off: its content is not what its digest says")
    return parted_sections(data, length, name)


def parted_sections(data, length, name):
    """The header, and the sections that it tells of."""
    end = HEAD.size + length
    if end > len(data):
        raise ExportError(f"{name} is malformed: a header of {length} bytes in a file of {len(data)}")
    try:
        head = json.loads(bytes(data[HEAD.size : end]).decode())
        sizes = [(section, size) for section, size in head["sections"]]
        told = all(type(section) is str and type(size) is int and size >= 0 for section, size in sizes)
    except (ValueError, TypeError, KeyError, RecursionError):
        told = False
    if not told or end + sum(size for _, size in sizes) != len(data):
        raise ExportError(f"{name} is malformed: its header does not tell what is in it")
    sections = {}
    for section, size in sizes:
        sections[section] = bytes(data[end : end + size])
        end += size
    return head, sections


def read_file(path):
    """The bytes of a file; ExportError where there is none, or what is there begins as no file of ours does."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ExportError(f"{name} is no regular file")
            start = file.read(len(MAGIC))
            return start + file.read() if start == MAGIC else start
    except OSError as error:
        raise ExportError(f"{name} cannot be read: {error.strerror or error}") from error


def write_file(path, data):
    """Write a file whole or not at all: beside its place, then put there in one step."""
    path = os.path.abspath(os.fspath(path))
    try:
        handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".wengert-", suffix=".part")
    except OSError as error:  # which would name a file that the caller knows nothing of
        raise type(error)(error.errno, error.strerror, path) from None
    try:
        with open(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
