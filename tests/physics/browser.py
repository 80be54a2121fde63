"""A Chromium that looks at a page, spoken to through its pipe; nothing of it is needed but the program."""

import json
import os
import shutil
import subprocess


def chromium():
    """Its path; None without one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """With a page of one tab; `with Browser(folder) as browser:`."""

    def __init__(self, folder):
        there, self.write_end = os.pipe()
        self.read_end, here = os.pipe()
        self.number, self.events, self.rest = 0, [], b""

        def pipes():  # its descriptors 3 and 4
            low = [os.dup(there), os.dup(here)]
            os.dup2(os.dup(low[0]), 3)
            os.dup2(os.dup(low[1]), 4)

        self.process = subprocess.Popen(
            [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={folder}", "about:blank"], preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(here)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.read_end, 1 << 16)
            if not more:
                raise EOFError("Chromium has ended")
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **parameters):
        """The answer to a command of the DevTools protocol; events that come before it are kept."""
        self.number += 1
        said = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            said["sessionId"] = self.session
        os.write(self.write_end, json.dumps(said).encode() + b"\0")
        while True:
            one = self.message()
            if one.get("id") == self.number:
                if "error" in one:
                    raise RuntimeError(f"{method}: {one['error']}")
                return one["result"]
            self.events.append(one)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message())

    def show(self, path, width, dark):
        """Loads the file in a window of this width; forgets earlier events."""
        self.events = []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="file://" + path)
        self.wait_for("Page.loadEventFired")

    def ask(self, expression):
        """The value of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def complaints(self):
        """What the console shows, and addresses that were asked for, but for those of the page itself."""
        found = []
        for event in self.events:
            if event["method"] in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                found.append(event["params"])
            if event["method"] == "Network.requestWillBeSent" and event["params"]["type"] != "Document":
                found.append(event["params"]["request"]["url"])
        return found
