"""`python -m wengert.examples.gallery [NAME...] [-o FOLDER]`: the pictures of the gallery, as PNG files."""

import argparse
import importlib
import pathlib
import time

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError as e:
    raise SystemExit("the pictures are drawn by matplotlib: pip install 'wengert[docs]'") from e

HERE = pathlib.Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def picture(name: str, **sizes: object) -> Figure:
    """The figure of one example, 7 by 4 inches at 110 dots an inch; sizes: arguments of its `main`."""
    example = importlib.import_module(f"wengert.examples.gallery.{name}")
    figure = Figure(figsize=(7.0, 4.0), dpi=110, layout="constrained")
    example.draw(figure, example.main(**sizes))
    return figure


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m wengert.examples.gallery", description="Draw examples.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *NAMES], help=", ".join(NAMES))
    parser.add_argument("-o", dest="folder", type=pathlib.Path, default=pathlib.Path("."), help="where the files go")
    return parser.parse_args()


if __name__ == "__main__":
    given = parsed()
    given.folder.mkdir(parents=True, exist_ok=True)
    for chosen in given.names or NAMES:
        start = time.perf_counter()
        picture(chosen).savefig(given.folder / f"{chosen}.png")
        print(f"{given.folder / chosen}.png   {time.perf_counter() - start:.1f} s", flush=True)
