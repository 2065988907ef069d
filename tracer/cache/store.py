"""Files of a cache: written whole or not at all, believed only if they are this user's and as they were written.

    DIRECTORY/<key>/<name>.wengert      a line of JSON, which says how long the parts behind it are; before it a digest
    of all

A file is made beside its place under a name of its own and then put there in one step, so a reader finds all of a file
or none, and of several writers the last one stays. No error of the file system goes beyond this module: what cannot be
read is not there, and what cannot be written is not kept. What was used least recently goes when there is too much.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import stat
import tempfile
import time

MAGIC = b"wengert cache 1\n"
SUFFIX = ".wengert"
MOST = 1 << 29  # bytes in a directory
EACH = 16  # files of one key
LARGEST = 1 << 28  # bytes in a file
# a file, and nothing else
OPENED = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
FORGOTTEN = 3600.0  # seconds after which a file that was never finished is removed


class Store:
    """The files under one directory."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory).expanduser().absolute()

    def find(self, key):
        """(path, what JSON holds, parts) of each file of a key that can be believed, the one used last first."""
        for path in newest(files(self.directory / key)):
            data = read(path)
            found = data and unpacked(data)
            if found and found[0].get("key") == key:
                yield path, *found
            elif data is not None:
                remove_file(path)  # damaged, and ours

    def add(self, path, parts):
        """Write a file once more, with more parts."""
        found = unpacked(read(path) or b"")
        if found:
            self.write(path.parent.name, path.stem, found[0], found[1] | parts)

    def used(self, path):
        """Note that a file was of use."""
        with contextlib.suppress(OSError):
            os.utime(path)

    def write(self, key, name, told, parts):
        """Keep a file -> None, or why it is not kept."""
        data = packed({**told, "key": key}, parts)
        if len(data) > LARGEST:
            return f"it is {len(data) >> 20} MiB"
        try:
            home = self.directory / key
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace(home, home / f"{name}{SUFFIX}", data)
        except OSError as error:
            return f"{type(error).__name__}: {error.strerror or error}"
        for path in newest(files(home))[EACH:]:
            remove_file(path)
        self.trim()
        return None

    def all(self):
        """Every file, with its status."""
        return [(p, s) for home in directories(self.directory) for p, s in files(home)]

    def trim(self):
        """Remove what was used least recently, until what is left has room; and what was begun and never finished."""
        found = self.all()
        total = sum(s.st_size for _, s in found)
        for path in reversed(newest(found)):
            if total <= MOST:
                break
            total -= path.stat().st_size if path.exists() else 0
            remove_file(path)
        for home in directories(self.directory):
            for path, s in files(home, begun=True):
                if time.time() - s.st_mtime > FORGOTTEN:
                    remove_file(path)

    def clear(self):
        """Remove every file -> how many there were."""
        found = self.all()
        for path, _ in found:
            remove_file(path)
        for home in directories(self.directory):
            for path, _ in files(home, begun=True):
                remove_file(path)
            with contextlib.suppress(OSError):
                home.rmdir()
        return len(found)


def directories(directory):
    """The directories of keys; what else is there is not ours."""
    with contextlib.suppress(OSError):
        return [
            pathlib.Path(e.path) for e in os.scandir(directory) if len(e.name) == 64 and e.is_dir(follow_symlinks=False)
        ]
    return []


def files(home, begun=False):
    """[(path, status)] of the files of a key, or of those not finished."""
    out = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(home):
            with contextlib.suppress(OSError):
                if entry.name.endswith(".part" if begun else SUFFIX):
                    out.append((pathlib.Path(entry.path), entry.stat(follow_symlinks=False)))
    return out


def newest(found):
    """Paths, the one used last first."""
    return [path for path, _ in sorted(found, key=lambda f: (-f[1].st_mtime_ns, f[0].name))]


def remove_file(path):
    with contextlib.suppress(OSError):
        path.unlink()


def replace(home, path, data):
    """Put a file in its place in one step."""
    handle, part = tempfile.mkstemp(dir=home, suffix=".part")  # only its owner may read or write it
    try:
        with open(handle, "wb") as file:
            file.write(data)
        if path.is_dir() and not path.is_symlink():
            os.rmdir(path)  # an empty one; what is in another is not ours
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def read(path):
    """The bytes of a file, or None where it is not there, or someone else has or could have written it."""
    try:
        with open(os.open(path, OPENED), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST or not mine(status):
                return None
            return file.read()
    except OSError:
        return None


def mine(status):
    """Whether a file belongs to this user, and no other may write it: what is in it is run."""
    return (
        not hasattr(os, "geteuid")
        or status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def packed(told, parts):
    """The bytes of a file. parts: {name: bytes}."""
    head = json.dumps({**told, "parts": [[n, len(data)] for n, data in parts.items()]}, separators=(",", ":")).encode()
    body = b"".join([len(head).to_bytes(8, "little"), head, *parts.values()])
    return MAGIC + hashlib.sha256(body).digest() + body


def unpacked(data):
    """-> (what JSON holds, {name: bytes}), or None where the bytes are not as they were written."""
    start = len(MAGIC) + 32
    body = memoryview(data)[start:]
    if data[: len(MAGIC)] != MAGIC or hashlib.sha256(body).digest() != data[len(MAGIC) : start]:
        return None
    end = 8 + int.from_bytes(body[:8], "little")
    told, parts = json.loads(bytes(body[8:end])), {}
    for name, size in told.pop("parts"):
        parts[name] = bytes(body[end : end + size])
        end += size
    return told, parts
