"""How XLA's foreign functions are laid out, read off the C header that comes with jaxlib.

Versions differ in what handlers of ours never touch. So not the version decides, but whether each field that one reads
or writes lies where it is looked for, and each number means what it is taken for. Whatever is not found there, or not
understood, is a layout that is not known.
"""

import re

SIZES = {"size_t": 8, "int64_t": 8, "int32_t": 4, "uint32_t": 4, "int": 4}
FIELDS = {
    "Args": {"struct_size": 0, "size": 16, "args": 32},
    "Rets": {"struct_size": 0, "size": 16, "rets": 32},
    "Attrs": {"struct_size": 0, "size": 16, "attrs": 40},
    "ByteSpan": {"ptr": 0, "len": 8},
    "Buffer": {"struct_size": 0, "dtype": 16, "data": 24},
    "Metadata_Extension": {"extension_base": 0, "metadata": 24},
    "Metadata": {"struct_size": 0, "api_version": 8, "traits": 32, "state_type_id": 40},
    "Api_Version": {"struct_size": 0, "extension_start": 8, "major_version": 16, "minor_version": 20},
    "Api": {"struct_size": 0, "XLA_FFI_Error_Create": 48},
    "TypeId": {"type_id": 0},
    "TypeInfo": {"struct_size": 0, "extension_start": 8, "deleter": 16},
    "Error_Create_Args": {"struct_size": 0, "extension_start": 8, "message": 16, "errc": 24},
    "CallFrame": {
        "struct_size": 0, "extension_start": 8, "api": 16, "ctx": 24, "stage": 32, "args": 40, "rets": 80, "attrs": 120,
    },
}
# those that versions lay out differently, each with a field more than the other, and which of theirs are written
ANYWHERE = {
    "Api": ("XLA_FFI_State_Set", "XLA_FFI_State_Get"),
    "State_Set_Args": ("struct_size", "extension_start", "ctx", "type_id", "state"),
    "State_Get_Args": ("struct_size", "extension_start", "ctx", "type_id", "state"),
}
EXTENSION = {"struct_size": 0, "type": 8, "next": 16}  # whatever its name is: versions rename it
NUMBERS = {
    "ExecutionStage_INSTANTIATE": 0, "ExecutionStage_EXECUTE": 3, "AttrType_STRING": 4,
    "Extension_Metadata": 1, "Error_Code_FAILED_PRECONDITION": 9,
}  # fmt: skip


class UnknownLayout(Exception):
    """A header says something that is not known here."""


class Header:
    """What a C header declares."""

    def __init__(self, text):
        self.defined = {
            name: int(n) for name, n in re.findall(r"^#define XLA_FFI_API_(MAJOR|MINOR) (\d+)$", text, re.M)
        }
        text = re.sub(r"//.*|/\*[\s\S]*?\*/", "", text)
        enums = re.findall(r"enum\s*{([^}]*)}\s*(\w+)\s*;", text)
        self.numbers = {
            name: int(n) for body, _ in enums for name, n in re.findall(r"XLA_FFI_(\w+)\s*=\s*(\d+)\b(?!\s*<)", body)
        }
        self.structs = dict(re.findall(r"struct\s+XLA_FFI_(\w+)\s*{([^}]*)}", text))
        self.names = {name: "int" for _, name in enums} | {
            name: kind for kind, name in re.findall(r"typedef\s+(\w+)\s+(\w+)\s*;", text)
        }

    def version(self):
        try:
            return self.defined["MAJOR"], self.defined["MINOR"]
        except KeyError:
            raise UnknownLayout("no version") from None

    def fields(self, struct):
        """{field: (its offset, its type)} of a struct, with "" for what lies behind them all."""
        if struct not in self.structs:
            raise UnknownLayout(f"no {struct}")
        at, found = 0, {}
        for declared in filter(None, map(str.strip, self.structs[struct].split(";"))):
            function = re.fullmatch(r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\)|void \(\*(\w+)\)\([\w\s*]*\)", declared)
            plain = re.fullmatch(r"([\w\s*]*[\s*])(\w+)", declared)
            if not (function or plain):
                raise UnknownLayout(f"{struct}: {declared}")
            kind, name = ("void*", function[1] or function[2]) if function else plain.groups()
            size, alignment = self.size(kind)
            at += -at % alignment
            found[name] = at, kind
            at += size
        return found | {"": (at, None)}

    def extension(self):
        """The struct that call frames are extended by."""
        found = re.findall(r"XLA_FFI_(\w+)\s*\*\s*extension_start", self.structs.get("CallFrame", ""))
        if len(found) != 1:
            raise UnknownLayout("CallFrame.extension_start")
        return found[0]

    def size(self, kind):
        """(size, alignment) of a type."""
        if "*" in kind:
            return 8, 8
        name = kind.strip()
        if name.removeprefix("XLA_FFI_") in self.structs:
            fields = self.fields(name.removeprefix("XLA_FFI_"))
            alignment = max(self.size(kind)[1] for _, kind in fields.values() if kind is not None)
            end = fields[""][0]
            return end + -end % alignment, alignment
        size = SIZES.get(self.names.get(name, name))
        if size is None:
            raise UnknownLayout(f"no type {name}")
        return size, size


def unknown(text):
    """What in a header is not as handlers take it to be, or None."""
    header = Header(text)
    try:
        if header.version()[0] != 0:
            return f"version {'.'.join(map(str, header.version()))}"
        for struct, fields in (FIELDS | {header.extension(): EXTENSION}).items():
            found = header.fields(struct)
            for name, offset in fields.items():
                if name not in found or found[name][0] != offset:
                    return f"{struct}.{name}"
        for struct, names in ANYWHERE.items():
            missing = [name for name in names if name not in header.fields(struct)]
            if missing:
                return f"{struct}.{missing[0]}"
    except UnknownLayout as why:
        return str(why)
    return next((name for name, n in NUMBERS.items() if header.numbers.get(name) != n), None)
