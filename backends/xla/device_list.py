"""The devices that programs may run on: what jax finds, by the names that `jit(device=)` takes."""

import os
from typing import Any, NamedTuple

import jax

from ..forked import Process, refuse_forked


class Device(NamedTuple):
    """One device. memory: bytes that it has, in_use: those that are taken now, None where it is not told; default:
    whether programs of ndarrays run there unless told otherwise; device: jax's own object for it."""

    name: str
    kind: str
    memory: int | None
    in_use: int | None
    default: bool
    device: Any


def listed_devices():
    """The `Device`s of this process: the default first, the CPU last."""
    refuse_forked()
    found = jax.local_devices()
    others = [] if found[0].platform == "cpu" else jax.local_devices(backend="cpu")
    return sorted((described_device(d, default_device()) for d in (*found, *others)), key=lambda d: not d.default)


def default_device():
    """The device on which jax runs unless told otherwise."""
    asked = jax.config.jax_default_device
    return jax.local_devices(backend=asked)[0] if isinstance(asked, str) else asked or jax.local_devices()[0]


def described_device(device, default):
    """The `Device` of one of jax's."""
    stats = device.memory_stats() or {}
    memory = stats.get("bytes_limit", main_memory() if device.platform == "cpu" else None)
    in_use = stats.get("bytes_in_use")
    return Device(device_name(device), device.device_kind, memory, in_use, device == default, device)


def device_name(device):
    """A jax device by the name that `find_device` finds it by; one that is described alone has its own number."""
    try:
        among = jax.devices(device.platform)
    except RuntimeError:
        among = []
    return f"{device.platform}:{among.index(device) if device in among else device.id}"


def where_run(device, leaves=()):
    """On which device a program runs that is made for `device`, None where it is for none, and is given these leaves;
    and why."""
    if hasattr(device, "mesh"):
        return f"{device.text()}, as asked by mesh= or shard="
    if device is not None:
        return f"{device_name(device)}, as asked by device="
    if Process.forked:
        return "none of XLA's, in a process that was forked"
    held = {d for x in leaves if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer) for d in x.devices()}
    if held:
        return f"{', '.join(sorted(map(device_name, held)))}, where its arguments are"
    return f"{listed_devices()[0].name}, the default device"


def main_memory():
    """Bytes of memory of this machine, None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def find_device(device):
    """A jax device from a device, a platform name ("cpu", "gpu") or "gpu:1"; ValueError where there is none, which
    names those that there are."""
    if device is None or not isinstance(device, str):
        return device
    platform, _, number = device.partition(":")
    try:
        return jax.devices(platform)[place_among(number)]
    except (RuntimeError, IndexError, ValueError) as error:
        there = ", ".join(d.name for d in listed_devices())
        why = f" ({error})" if isinstance(error, RuntimeError) and UNKNOWN not in str(error) else ""
        raise ValueError(f"no {device!r} device here: there is {there}{why}\n  {ADVICE}") from None


UNKNOWN = "Unknown backend"  # what jax says of a platform of which it has nothing
ADVICE = "Leave device= out to run where jax runs by default; wengert.devices() lists what there is."


def place_among(number):
    """The number behind the colon of a device's name."""
    place = int(number or 0)
    if place < 0:
        raise IndexError(place)
    return place
