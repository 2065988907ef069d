"""What of Python, NumPy, SciPy and other libraries a trace may run as it is: a positive list, by module and name.

A trace runs once, for all later calls. So what captured source calls without hooks must give the same for the same
arguments, and leave the world alone. Each family here does, for the reason that stands beside it; of some modules
single functions read the world (READS: asked again at every call), tell the time (CLOCKS), change the world (ACTS:
called again at every call, in order), or do what no program can repeat (REFUSED). What no table names is refused too:
nobody knows what it does.
"""

import functools
import inspect
import sys
import types

import numpy as np

PURE, READS, CLOCK, ACTS, REFUSED, UNKNOWN = "pure", "reads", "clock", "acts", "refused", "unknown"

# -- pure: families, with what makes them so -------------------------------------------------------

# of their arguments
NUMBERS = "builtins math cmath operator _operator numbers fractions decimal _decimal _pydecimal statistics _statistics"
# call what they are given, which is asked about itself
STEPS = "itertools functools _functools heapq _heapq bisect _bisect graphlib"
HOLDERS = (
    "collections _collections collections.abc _collections_abc types typing dataclasses enum abc _abc copy copyreg "
    "array weakref"
)
# make objects, and work on those they are given
HOLDERS += " _weakref _weakrefset contextlib contextvars _contextvars string.templatelib reprlib"
TEXT = (
    "re _sre re._parser re._compiler string _string textwrap difflib unicodedata html html.entities urllib.parse "
    "fnmatch shlex keyword token"
)
TEXT += (
    " json json.decoder json.encoder json.scanner _json ast _ast csv _csv pprint binascii base64 zlib struct _struct "
    "stringprep"
)
# of their characters and bytes
TEXT += " pickle _pickle hashlib _hashlib hmac _md5 _sha1 _sha2 _sha3 _blake2 _codecs codecs encodings"
# but for those below, of the numbers they are given
DATES = "datetime _datetime _pydatetime calendar _strptime zoneinfo uuid ipaddress colorsys"
TOLD = "inspect traceback linecache errno stat tokenize"  # tell of the objects they are given, which stay as they are
# Python's `with`: compiled code gives none of NumPy's warnings, asks no errstate, and is one thread's while it is
# traced
AROUND = "warnings _warnings _py_warnings threading _thread _threading_local"
# StringIO and BytesIO that the function makes itself; files are opened by `open`, which is refused
MEMORY = "io _io _pyio"
# names as text, but for what asks the file system
PATHS = "posixpath ntpath genericpath os.path pathlib pathlib._local pathlib._abc pathlib.types"
MODULES = {*" ".join((NUMBERS, STEPS, HOLDERS, TEXT, DATES, TOLD, AROUND, MEMORY, PATHS)).split()}
# numbers in, numbers out; jax's functions are pure by its own rules, and keys are values there
PACKAGES = ("numpy", "ml_dtypes", "jax", "jaxlib", "opt_einsum", "importlib", "zipimport")
PACKAGES += tuple(
    f"scipy.{n}"
    for n in "special linalg fft fftpack signal ndimage interpolate integrate optimize spatial sparse stats cluster "
             "constants".split()
)
PACKAGES += ("scipy._lib", "scipy.differentiate", "wengert")
PACKAGES += ("scipy._external.array_api_compat", "scipy._external.array_api_extra")  # in scipy._lib before 1.18
# of modules that are not pure as a whole
NAMES = {
    "os": "fspath fsencode fsdecode strerror path",
    "posix": "fspath strerror",
    "time": "mktime strptime struct_time",
    "sys": "intern getsizeof exc_info exception is_finalizing getdefaultencoding getfilesystemencoding getrefcount "
           "audit",
    "logging": "getLogger getLevelName Formatter LogRecord makeLogRecord Logger.getChild Manager.getLogger",
    "random": "Random",
    "locale": "normalize",
    "gc": "is_tracked",
}
NAMES = {module: set(names.split()) for module, names in NAMES.items()}

# -- what is not -----------------------------------------------------------------------------------

PATH = (
    "exists is_file is_dir is_symlink is_mount stat lstat read_text read_bytes resolve absolute expanduser samefile "
    "owner group cwd home readlink"
)
OS_PATH = (
    "exists lexists isfile isdir islink ismount getsize getmtime getatime getctime samefile realpath abspath relpath "
    "expanduser expandvars"
)
_READS = {
    "numpy": "load loadtxt genfromtxt fromfile fromregex geterr getbufsize geterrcall get_printoptions array2string "
             "array_repr array_str "
    "format_float_positional",
    "os": "getcwd listdir stat lstat access cpu_count getpid getppid getlogin getuid getgid environb get_exec_path "
          "getloadavg readlink",
    "posix": "getcwd listdir stat lstat access cpu_count getuid getgid readlink getpid getppid getlogin getloadavg",
    "sys": "getrecursionlimit getswitchinterval gettrace getprofile",
    "glob": "glob",
    "datetime": "date.today",
    "pkgutil": "get_data",
    "contextvars": "ContextVar.get",
    "_contextvars": "ContextVar.get",
    "decimal": "getcontext",
    "locale": "getlocale localeconv getpreferredencoding getdefaultlocale setlocale strcoll strxfrm currency "
              "format_string str atof",
    "platform": "system node release version machine processor platform uname architecture python_version "
                "python_version_tuple "
    "python_implementation python_build python_compiler libc_ver freedesktop_os_release",
    "gc": "isenabled get_count get_threshold",
    "shutil": "which disk_usage get_terminal_size",
    "getpass": "getuser",
    "_socket": "gethostname",
    "logging": "Logger.isEnabledFor Logger.getEffectiveLevel Logger.hasHandlers",
    "weakref": "ReferenceType.__call__",
    "tempfile": "gettempdir",
    "threading": "get_ident get_native_id current_thread main_thread",
    "_thread": "get_ident get_native_id",
    **dict.fromkeys(("posixpath", "ntpath", "genericpath"), OS_PATH),
    "pathlib": " ".join(f"Path.{n}" for n in PATH.split()),
}
_CLOCKS = {
    "time": "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns "
            "thread_time thread_time_ns "
    "clock_gettime clock_gettime_ns",
}
_REFUSED = {
    "builtins": "input open breakpoint __import__ exec",
    "io": "open open_code",
    "_io": "open open_code FileIO",
    "os": "urandom",
    "posix": "urandom",
    "uuid": "uuid1 uuid4 getnode",
    "datetime": "datetime.now datetime.utcnow datetime.today",
    "time": "localtime gmtime ctime asctime strftime",
    "contextlib": "chdir chdir.__enter__ chdir.__exit__",
    "inspect": "currentframe stack trace",
    "numpy": "memmap test",
    **dict.fromkeys(("json", "pickle", "_pickle"), "load dump Pickler Unpickler"),
    "pprint": "pprint pp PrettyPrinter.pprint",
    "threading": "Thread Timer active_count enumerate settrace setprofile",
    "_thread": "start_new_thread",
    "contextvars": "ContextVar.set ContextVar.reset Context.run",
    "_contextvars": "ContextVar.set ContextVar.reset Context.run",
    "decimal": "setcontext",
    "pathlib": "Path.open Path.rename Path.replace Path.iterdir Path.glob Path.rglob Path.walk",
    "_decimal": "setcontext",
    "importlib": "reload",
    "traceback": "print_exc print_exception print_stack print_tb format_stack extract_stack",
}
_WRITES = (
    "makedirs mkdir remove unlink rmdir rename replace chmod utime truncate symlink link removedirs renames sync "
    "putenv unsetenv chdir"
)
_ACTS = {
    "numpy": "save savez savez_compressed savetxt ndarray.tofile ndarray.dump set_printoptions setbufsize",
    "time": "sleep",
    "os": _WRITES,
    "posix": _WRITES,
    "shutil": "rmtree",
    "warnings": "warn warn_explicit",
    "_warnings": "warn warn_explicit",
    "logging": "basicConfig disable debug info warning warn error critical fatal log "
    + " ".join(
        f"Logger.{n}"
        for n in "debug info warning warn error critical fatal log setLevel addHandler removeHandler".split()
    ),
    "gc": "collect enable disable freeze",
    "sys": "setrecursionlimit setswitchinterval",
    "_io": " ".join(
        f"{c}.{n}"
        for c in ("TextIOWrapper", "BufferedWriter", "BufferedRandom", "FileIO")
        for n in ("write", "flush", "close")
    )
    + " _IOBase.writelines _IOBase.flush TextIOWrapper.writelines",
    "pathlib": "Path.write_text Path.write_bytes Path.mkdir Path.unlink Path.rmdir Path.touch Path.chmod",
}
# those whose result is a number that the program then has; all others give None, or what nobody needs
COUNTS = {"collect", "setbufsize", "write", "write_text", "write_bytes"}
TABLES = {READS: _READS, CLOCK: _CLOCKS, REFUSED: _REFUSED, ACTS: _ACTS}
TABLES = {verdict: {m: set(names.split()) for m, names in table.items()} for verdict, table in TABLES.items()}
ENTROPY = {"secrets"}
FORBIDDEN_PACKAGES = (
    "numpy.random", "numpy.testing", "numpy.f2py", "numpy.distutils", "scipy.stats._qmc", "scipy.stats.sampling",
)
# of SciPy: take numbers from np.random
DRAWING = {"rvs", "resample", "random_correlation", "bootstrap", "permutation_test", "monte_carlo_test"}
SEEDED = "_transition_to_rng."  # what SciPy puts in front of all that takes a generator, by its name there


def place_of(f):
    """(module, qualified name) of what is called: where it is defined, whatever a decorator has written on it."""
    kind = type(f)
    if kind is types.MethodType:
        f, kind = f.__func__, type(f.__func__)
    if kind is types.FunctionType:
        ours = f.__code__.co_filename.startswith("<wengert")  # in front of a compiled function
        return "wengert" if ours else f.__globals__.get("__name__") or "", f.__code__.co_qualname
    if kind is types.BuiltinFunctionType:
        owner, name = f.__self__, f.__name__
        if owner is None or isinstance(owner, types.ModuleType):
            return f.__module__ or "", name
        owner = owner if isinstance(owner, type) else type(owner)
        return home(owner, name)
    if kind in DESCRIPTORS:
        return home(f.__objclass__ if hasattr(f, "__objclass__") else type(f.__self__), f.__name__)
    if isinstance(f, type):
        return f.__module__ or "", f.__qualname__
    if isinstance(f, types.ModuleType):
        return "builtins", "module"
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    if not isinstance(name, str):
        run = inspect.getattr_static(kind, "__call__", None)
        return place_of(run) if type(run) is types.FunctionType else home(kind, "__call__")
    if kind.__module__.startswith(("jax", "jaxlib")):  # under the name of the function that it compiles
        return kind.__module__, name
    return getattr(f, "__module__", None) or kind.__module__, name


DESCRIPTORS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)


def as_documented(module, name):
    """(module, name) as users know it, of methods of `Path`, which versions of Python have in modules of their own."""
    return ("pathlib", name.replace("PathBase.", "Path.")) if module.startswith("pathlib.") else (module, name)


def home(kind, name):
    """Where a method of a class is defined."""
    owner = next((c for c in kind.__mro__ if name in vars(c)), kind)
    return owner.__module__ or "", f"{owner.__qualname__}.{name}"


def verdict(f):
    """Which of the kinds above a function, class or method of a library is of."""
    found = listed(*place_of(f))
    return PURE if found == UNKNOWN and isinstance(f, type) and issubclass(f, BaseException) else found


@functools.lru_cache(4096)
def listed(module, name):
    """Likewise for a module and a name in it."""
    module, name = as_documented(module, name)
    for found, table in TABLES.items():
        names = table.get(module)
        if names and (name in names or name.rpartition(".")[2] in names and module in FLAT):
            return found
    top = module.partition(".")[0]
    if top == "numpy" and module != "numpy":
        short = TABLES_OF_NUMPY.get(name)
        if (
            short
            and getattr(np, name.partition(".")[0], None) is not None
            and not module.startswith(FORBIDDEN_PACKAGES)
        ):
            return short
    if module in ENTROPY or module.startswith(FORBIDDEN_PACKAGES):
        return REFUSED
    if top == "scipy" and (name.rpartition(".")[2] in DRAWING or name.startswith(SEEDED)):
        return REFUSED
    if module in MODULES or name in NAMES.get(module, ()):
        return PURE
    if module.startswith(PACKAGES) and any(module == p or module.startswith(p + ".") for p in PACKAGES):
        return PURE
    return UNKNOWN


FLAT = {"posixpath", "ntpath", "genericpath"}
TABLES_OF_NUMPY = {name: found for found, table in TABLES.items() for name in table.get("numpy", ())}


def is_foreign(module):
    """Whether a module, by name, is of the standard library or of those that are never hooked."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in ("numpy", "scipy", "jax", "jaxlib", "ml_dtypes")
