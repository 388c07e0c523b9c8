"""Opens a page in headless Chromium: brings back what was measured in it, or lets tests click."""

import html
import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from importlib import resources

DRIVER = shutil.which("chromedriver")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-dev-shm-usage",
]
# Errors are collected from before the page's first element on; the rest is measured once it is
# loaded. A frame has any width, while a headless window is never narrower than 500 px.
WATCH = """<script>
const errors = [];
window.addEventListener("error", e => errors.push(String(e.message || e.target.outerHTML)), true);
for (const kind of ["error", "warn"]) console[kind] = (...words) => errors.push(words.join(" "));
window.addEventListener("securitypolicyviolation", e => errors.push(e.violatedDirective));
window.measured = () => {
  const page = document.scrollingElement, box = e => e.getBoundingClientRect();
  const clipped = e => e.closest(".scroll") !== null;
  return {
    errors, inner: innerWidth, width: page.scrollWidth,
    wide: [...document.querySelectorAll("main *")]
      .filter(e => !clipped(e) && box(e).right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90)),
    charts: [...document.querySelectorAll("figure.chart")].map(e => ({
      id: e.id, width: box(e.querySelector("svg[role=img]")).width,
      height: box(e.querySelector("svg[role=img]")).height,
      drawn: e.querySelectorAll("svg[role=img] path").length})),
  };
};
</script>"""
FRAME = """<!doctype html><meta charset="utf-8"><body style="margin: 0">
<iframe id="page" style="border: 0; width: {width}px; height: 900px" src="page.html"></iframe>
<pre id="found"></pre><script>
document.getElementById("page").addEventListener("load", event => {{
  const found = event.target.contentWindow.measured();
  document.getElementById("found").textContent = JSON.stringify(found);
}});
</script>"""


def open_page(page, width, folder):
    """Return errors, widths and charts of a page that is so many pixels wide."""
    text = page.read_text(encoding="utf-8")
    assert "<head>" in text
    (folder / "page.html").write_text(text.replace("<head>", f"<head>{WATCH}", 1), encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width), encoding="utf-8")
    dom = run_chromium(
        folder, "--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom", frame
    )
    found = re.search(r'<pre id="found">(.+?)</pre>', dom, re.S)
    assert found, f"the page was not measured: {dom[-500:]}"
    return json.loads(html.unescape(found[1]))


def run_chromium(folder, *arguments):
    """Run Chromium once with a profile of its own; return what it printed."""
    done = subprocess.run(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={folder / 'profile'}", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@contextmanager
def browser(folder, width=1280, height=900, dark=False):
    """Give a browser of so many pixels that can be clicked in; a start takes seconds."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS, f"--user-data-dir={folder / 'clicks'}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, ChromeService(DRIVER))
    driver.set_script_timeout(120)  # axe takes long on a busy machine
    try:
        resize(driver, width, height, dark)
        yield driver
    finally:
        driver.quit()


def resize(driver, width, height=900, dark=False):
    """Make the page so many pixels wide, narrower than a window can be, in light or in dark."""
    shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def complaints(driver):
    """Return what axe has to say about accessibility: rule and element of each complaint."""
    axe = resources.files("selenium_axe_python").joinpath("axe-core/axe.min.js")
    driver.execute_script(axe.read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    return [(one["id"], node["html"]) for one in found["violations"] for node in one["nodes"]]


def console(driver):
    """Return errors and warnings of the console since the last time."""
    return [line["message"] for line in driver.get_log("browser") if line["level"] != "INFO"]


def overflow(driver):
    """Return by how many pixels the page is wider than its window."""
    page = "document.scrollingElement"
    return driver.execute_script(f"return {page}.scrollWidth - innerWidth")
