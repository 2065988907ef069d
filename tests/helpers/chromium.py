"""A headless Chromium, driven through the pipe of its debugging protocol (chromedevtools.github.io): no package needed."""

import base64
import functools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
]  # fmt: skip
CONNECTED = """if True:
    import fcntl, os, sys
    taken, given = (fcntl.fcntl(int(x), fcntl.F_DUPFD, 10) for x in sys.argv[1:3])
    os.dup2(taken, 3)
    os.dup2(given, 4)
    os.execv(sys.argv[3], sys.argv[3:])
"""  # the browser reads commands from 3 and answers on 4
PATIENCE = 60.0  # seconds for one answer


@functools.cache
def installed():
    """The path of a Chromium that runs, or None."""
    return next((path for path in map(shutil.which, NAMES) if path and runs(path)), None)


def runs(path):
    """Whether it tells its version: what Ubuntu installs under the name may only ask for a snap."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=PATIENCE).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


class Browser:
    """A browser with one page. `errors` is what the page has written to its console, `requests` what it has asked for."""

    def __init__(self, path):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        mine, theirs = os.pipe(), os.pipe()
        self.read, self.write = theirs[0], mine[1]
        ends = mine[0], theirs[1]
        command = [path, *ARGUMENTS, f"--user-data-dir={self.folder}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-c", CONNECTED, *map(str, ends), *command], pass_fds=ends, **quiet)
        os.close(mine[0])
        os.close(theirs[1])
        self.buffer, self.count, self.session = b"", 0, None
        self.errors, self.requests, self.events = [], [], set()
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, **params):
        """The result of a command."""
        self.count += 1
        told = {"id": self.count, "method": method, "params": params} | ({"sessionId": self.session} if self.session else {})
        os.write(self.write, json.dumps(told).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            found = os.read(self.read, 1 << 20)
            if not found:
                raise RuntimeError("the browser has ended")
            self.buffer += found
        found, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(found)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        self.events.add(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(" ".join(str(x.get("value", x.get("description"))) for x in params["args"]))
        elif method == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    # -- a page ------------------------------------------------------------------------------------
    def show(self, path, width=1440, height=900, scheme="light"):
        """Open a file and wait until it is there."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.errors.clear()
        self.requests.clear()
        self.events.discard("Page.loadEventFired")
        self.send("Page.navigate", url=f"file://{path}")
        while "Page.loadEventFired" not in self.events:
            self.note(self.message())
        self.settle()

    def settle(self):
        """Wait until what was asked for is drawn."""
        self.ask("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def ask(self, expression):
        """The value of an expression of JavaScript in the page."""
        told = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"]["exception"].get("description", told))
        return told["result"].get("value")

    def click(self, selector, number=0, count=1):
        """Press the mouse in the middle of an element."""
        found = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        x, y = self.ask(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'nearest', inline: 'nearest'}}); const r = e.getBoundingClientRect();"
            " return [r.x + Math.min(r.width / 2, 60), r.y + Math.min(r.height / 2, 10)]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)
        self.settle()

    def press(self, key):
        """Press a key."""
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40}
        code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.settle()

    def write_text(self, text):
        """Type a text where the cursor is."""
        self.send("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path):
        """Keep what is seen as a PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
