#!/usr/bin/env python3
"""The page of `quadrille report`: what is on it, in HTML as in Markdown, and how a browser shows it.

    QUADRILLE_PROGRAM=build/quadrille report_tests.py [CLASS...]
"""

import copy
import html.parser
import importlib
import json
import os
import re
import sys
import unittest

import numpy as np

import harness
from browser import Browser, chromium
from harness import ProgramTest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path += [os.path.join(ROOT, folder) for folder in ("modules/shared/report", "input/report")]
BOUNDARY = ["periodic"] * 3 + ["antiperiodic"]
HALF = {"precision": "half", "reconstruct": 12, "temporal_gauge": True}
MEASURE = {"operator": {"type": "wilson", "mass": 0.1, "boundary": BOUNDARY},
           "solver": {"type": "bicgstab", "tolerance": 1e-10, "scheme": "reliable", "sloppy": HALF}}
VOID = {"meta", "br", "hr", "img"}
PAGES = {"light": "#ffffff", "dark": "#15181c"}  # their backgrounds


def hadrons():
    """Tasks of all kinds on one configuration, after the chain that makes it."""
    return {"gauge": {"start": "hot", "dims": [4, 4, 4, 8], "seed": harness.SEED}, **copy.deepcopy(MEASURE), "run": [
        {"task": "generate", "beta": 5.7, "thermalization": 20, "configurations": 1, "separation": 80, "save": "b_#.lime"},
        {"task": "gradient_flow", "time": 0.2, "step": 0.02},
        {"task": "propagator", "source": {"type": "point", "site": [0, 1, 2, 3]}},
        {"task": "mesons", "from": "propagator", "channels": ["pion", {"sink": "gtg5", "source": "g5"}]},
        {"task": "baryons", "from": "propagator"}]}


def ensemble():
    return {"gauge": {"start": "hot", "dims": [4, 4, 4, 8], "seed": harness.SEED}, **copy.deepcopy(MEASURE),
            "ensemble": {"from": "generate", "fits": [{"name": "ground", "correlator": "mesons/pion", "window": [1, 4]}]},
            "run": [{"task": "generate", "beta": 5.7, "thermalization": 10, "configurations": 12, "separation": 2,
                     "save": "b_##.lime"},
                    {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}},
                    {"task": "mesons", "from": "propagator"}]}


def study():
    return {"gauge": {"start": "hot", "dims": [4, 4, 4, 8]}, "operator": copy.deepcopy(MEASURE["operator"]), "run": [
        {"task": "solver_study", "masses": [0.1, 0.3], "tolerances": [1e-8], "solvers": ["cg"], "schemes": ["reliable"],
         "sloppy": [dict(HALF)], "deltas": [0.1], "source": {"type": "gaussian"}, "histories": "lightest"}]}


def dynamics():
    return {"run": [{"task": "md_run", "system": {"source": "random", "particles": 256, "density": 0.3}, "cutoff": 2.5,
                     "temperature": 0.5, "skin": 0.3, "time_step": 0.001, "steps": 20, "every": 5}]}


JOBS = {"hadrons": hadrons, "ensemble": ensemble, "study": study, "dynamics": dynamics}


class Page(html.parser.HTMLParser):
    """Every element as (name, attributes, its text); an error where the file is not well-formed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        found = (tag, dict(attributes), [])
        assert len(dict(attributes)) == len(attributes), f"an attribute twice: {tag} {attributes}"
        self.elements.append(found)
        if tag not in VOID:
            self.open.append(found)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), []))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> in {[name for name, *_ in self.open]}"
        self.open.pop()

    def handle_data(self, data):
        for _, _, texts in self.open:
            texts.append(data)

    def texts(self, tag):
        return ["".join(texts) for name, _, texts in self.elements if name == tag]

    def attributes(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


def plain(markdown):
    """A heading without its marks."""
    return re.sub(r"\\(.)", r"\1", markdown.replace("`", ""))


def luminance(color):
    parts = [int(color[k:k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def contrast(color, other):
    """Of the W3C's accessibility guidelines: 1 to 21."""
    low, high = sorted((luminance(color), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class ReportTest(ProgramTest):
    def report(self, *more, results=None):
        """The page and the Markdown of a report on the folder `out`, or on changed results."""
        python = harness.python_with_matplotlib()
        of = self.path("out")
        if results is not None:
            of = self.path("changed.json")
            with open(of, "w") as stream:
                json.dump(results, stream)
        process = self.call("report", of, "--out", self.path("report"), *more,
                            env={"QUADRILLE_PYTHON": python} if python else None)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stdout, self.path("report/report.html") + "\n")
        texts = []
        for file in ("report.html", "report.md"):
            with open(self.path("report/" + file), encoding="utf-8") as stream:
                texts.append(stream.read())
        return texts


class ReportPage(ReportTest):
    """Without a browser."""

    def check_page(self, text, markdown):
        """It is well-formed, loads nothing, runs nothing, and has all that the Markdown has."""
        page = Page(text)
        self.assertNotRegex(text.split("</head>")[1], r"(?i)https?:|<script|javascript:|@import|\son\w+=")
        self.assertFalse({"img", "script", "link", "iframe", "object", "image"} & {name for name, *_ in page.elements})
        for _, attributes, _ in page.elements:
            for key in ("src", "href", "xlink:href"):
                target = attributes.get(key, "#")
                self.assertTrue(target.startswith("#") or os.path.exists(self.path("report/" + target)), target)
        headings = [(f"h{len(marks)}", plain(words)) for marks, words in re.findall(r"(?m)^(#+) (.*)$", markdown)]
        self.assertEqual([(name, "".join(texts)) for name, _, texts in page.elements if re.fullmatch("h[1-6]", name)],
                         headings)
        captions = re.findall(r"(?m)^!\[(.*)\]\(.*\)$", markdown)
        self.assertEqual(page.texts("figcaption"), [plain(caption) + "." for caption in captions])
        self.assertEqual(len(page.attributes("svg")), len(page.texts("figcaption")))
        self.assertEqual(len(page.attributes("table")), len(re.findall(r"(?m)^\| (?:--- \| )*---", markdown)))
        rows = [line for line in markdown.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
        cells = sum(len(re.findall(r"(?<!\\)\|", line)) - 1 for line in rows)
        self.assertEqual(len(page.texts("td")) + len(page.texts("th")), cells)
        names = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
        self.assertEqual(len(names), len(set(names)), "an id twice")
        wanted = re.findall(r'(?:href="|url\()#([^")]+)', text) + [one["aria-labelledby"] for one in page.attributes("svg")]
        self.assertLessEqual(set(wanted), set(names))
        return page

    def check_colors(self, text):
        """All lines and marks of figures are seen on both pages."""
        for picture in re.findall(r"<svg.*?</svg>", text, flags=re.S):
            for color in set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", picture)):
                for name, background in PAGES.items():
                    self.assertGreaterEqual(contrast(color, background), 3, (color, name))

    def check_job(self, page, results):
        """The job on the page is the resolved job: run in the same folder it is no other one, and nothing is left to do."""
        job = page.texts("pre")[-1]
        again = self.run_job(job)
        self.assertEqual(again["job"], results["job"])
        self.assertEqual(again["timing"]["runs"], 2)

    def check(self, name, *captions):
        results = self.run_job(JOBS[name]())
        text, markdown = self.report()
        page = self.check_page(text, markdown)
        self.check_job(page, results)
        if harness.python_with_matplotlib():
            self.check_colors(text)
            for caption in captions:
                self.assertTrue(any(caption in one for one in page.texts("figcaption")), caption)
        return page, results

    def test_hadrons(self):
        page, results = self.check("hadrons", "plaquette and Polyakov loop", "autocorrelation function", "Gradient flow",
                                   "Correlators at rest", "Residuals of propagator", "Where the time went")
        self.assertIn("Warnings" if results["warnings"] else "Time", page.texts("h2"))
        self.assertEqual(page.texts("h2")[0], "Correlators mesons")
        kernels = {kernel["name"] for solve in results["solves"] for kernel in solve["kernels"]}
        self.assertTrue(kernels & set(page.texts("td")))

    def test_ensemble(self):
        page, results = self.check("ensemble", "Mean correlators of 12", "Plaquette of each configuration")
        self.assertIn(results["configurations"][7]["file"], page.texts("td"))

    def test_study(self):
        self.check("study", "iterations until convergence", "time to solution", "residuals of cg")

    def test_dynamics(self):
        self.check("dynamics", "energy per particle")

    def test_words_of_yaml_in_a_job(self):
        """File names that YAML would read as something else."""
        for file in ("1e5", "true", "~", "a: b #c.lime", "{x}, [y] 'z' \"w\".lime", "- d", "*e", "\u00e4\\n.lime", "0x1F", ".5"):
            job = {**hadrons(), "run": hadrons()["run"][:1]}
            job["run"][0].update(save=file, thermalization=1, separation=1)
            results = self.run_job(job, "--force")
            text, markdown = self.report()
            self.check_job(self.check_page(text, markdown), results)

    HOSTILE = "<script>alert(1)</script> & \"'| `x` [a](http://b) *c* ]]> \\"

    def test_texts_are_shown_as_they_are(self):
        results = self.run_job({**hadrons(), "run": hadrons()["run"][:1]})
        results["warnings"] = [self.HOSTILE]
        results["gauge"]["file"] = self.HOSTILE
        results["job"]["gauge"]["file"] = self.HOSTILE
        text, markdown = self.report(results=results)
        self.assertNotIn("<script", text)
        page = self.check_page(text.replace("http://b", ""), markdown)
        self.assertIn(self.HOSTILE.replace("http://b", ""), page.texts("li"))
        self.assertIn(json.dumps(self.HOSTILE).replace("http://b", ""), page.texts("pre")[-1])
        said = next(line for line in markdown.splitlines() if line.startswith("- "))
        self.assertEqual(plain(said.replace("\\`", "~")).replace("~", "`"), "- " + self.HOSTILE)
        self.assertNotRegex(said, r"(?<!\\)[`*|]|(?<!\\)<|(?<!\\)\]\(")

    def test_rates_of_solves(self):
        """Bytes of all kernels over the seconds of the solves, and in percent of what bench measured."""
        results = self.run_job(hadrons())
        with open(self.path("memory.json"), "w") as stream:
            json.dump({"memory": {"read_gbs": 12.5, "copy_gbs": 9.0, "triad_gbs": 9.0}, "kernels": []}, stream)
        _, markdown = self.report("--memory", self.path("memory.json"))
        moved = sum(kernel["bytes_per_site"] * kernel["sites"] / solve["batch"]
                    for solve in results["solves"] for kernel in solve["kernels"])
        gbs = moved / sum(solve["seconds"] for solve in results["solves"]) * 1e-9
        self.assertIn(f" | {gbs:.3g} | {100 * gbs / 12.5:.0f} % |\n", markdown.split("## Solves")[1].split("###")[0])
        _, markdown = self.report()
        self.assertIn(f" | {gbs:.3g} |\n", markdown.split("## Solves")[1].split("###")[0])
        process = self.call("report", self.path("out"), "--memory", self.path("out/results.json"))
        self.assertEqual(process.returncode, 1)
        self.assertIn("results.json: it has no rates of the memory", process.stderr)

    def test_sites_of_kernels(self):
        """The hopping term works on half of the lattice in each call, with as many right-hand sides as its name says."""
        results = self.run_job(hadrons())
        hops = [kernel for solve in results["solves"] for kernel in solve["kernels"] if re.match("wilson_half_12", kernel["name"])]
        self.assertTrue(hops)
        for kernel in hops:
            self.assertEqual(kernel["sites"] / kernel["calls"] % (4**3 * 8 / 2), 0, kernel)


class Autocorrelation(unittest.TestCase):
    """Histories x' = a x + noise, whose autocorrelation function is a^t."""

    def histories(self, count, length, a):
        noise = np.random.default_rng(harness.SEED).normal(size=(count, length + 200))
        for k in range(1, length + 200):
            noise[:, k] += a * noise[:, k - 1]
        return noise[:, 200:]

    def test_against_what_is_known(self):
        """Means over many histories; the errors are their spread."""
        autocorrelation = importlib.import_module("autocorrelation").autocorrelation
        a, length, window, lags, count = 0.7, 400, 12, 36, 300
        tau = 0.5 * (1 + a) / (1 - a)
        found = [autocorrelation(x, np.sqrt(2 * tau * np.var(x) / length), window, lags)
                 for x in self.histories(count, length, a)]
        values, errors = (np.array(part) for part in zip(*found))
        spread = np.std(values, axis=0)
        self.assertTrue(np.all(values[:, 0] == 1))
        for t in (1, 2, 4, 8, 16, 30):
            self.assertLess(abs(np.mean(values[:, t]) - a**t), 5 * spread[t] / np.sqrt(count) + 0.02, t)
            self.assertTrue(0.7 < np.mean(errors[:, t]) / spread[t] < 1.45, (t, np.mean(errors[:, t]), spread[t]))

    def test_its_sum_is_the_time(self):
        """Of a chain that the program measured: 1/2 + rho(1) + ... + rho(window)."""
        test = ProgramTest()
        test.setUp()
        self.addCleanup(test.doCleanups)
        chain = test.run_job({**hadrons(), "run": hadrons()["run"][:1]})["chains"]["generate"]
        mean, history = chain["plaquette"], chain["history"]["plaquette"][20:]
        rho, _ = importlib.import_module("autocorrelation").autocorrelation(history, mean["error"], mean["window"],
                                                                            3 * mean["window"])
        self.assertAlmostEqual(0.5 + sum(rho[1:mean["window"] + 1]), mean["tau_int"], delta=1e-9)


@unittest.skipUnless(chromium(), "no Chromium (Debian: chromium)")
class ReportInBrowser(ReportTest):
    """Nothing overflows, is missing or is complained of, in light and dark, on wide and narrow windows."""

    # What is wider than the page and does not scroll by itself.
    OVERFLOW = """[...document.querySelectorAll("body *")].filter(one => !one.closest(".scroll, pre, svg") &&
        one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5).map(one => one.outerHTML.slice(0, 80))"""
    EMPTY = """[...document.querySelectorAll("svg")].filter(one => one.getBoundingClientRect().width < 200 ||
        one.getBoundingClientRect().height < 50 || one.querySelectorAll("path, use").length < 10).length"""
    # Of ordinary text to its background.
    COLORS = """["body", "a", "figcaption", "th"].map(name => document.querySelector(name)).filter(one => one)
        .map(one => getComputedStyle(one).color).concat(getComputedStyle(document.body).backgroundColor)"""
    INK = 'getComputedStyle(document.querySelector("svg")).fill'

    def check(self, name):
        self.run_job(JOBS[name]())
        text, _ = self.report()
        count = text.count("<svg")
        with Browser(self.path("profile")) as browser:
            for width in (1280, 400):
                for dark in (False, True):
                    browser.show(self.path("report/report.html"), width, dark)
                    self.assertEqual(browser.ask("document.querySelectorAll('svg').length"), count)
                    self.assertLessEqual(browser.ask("document.documentElement.scrollWidth"), width)
                    self.assertEqual(browser.ask(self.OVERFLOW), [], (width, dark))
                    self.assertEqual(browser.ask(self.EMPTY), 0)
                    self.check_colors(browser, dark, count)
                    self.assertEqual(browser.complaints(), [])

    def check_colors(self, browser, dark, count):
        def as_hex(color):
            return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", color)[:3])

        *texts, background = map(as_hex, browser.ask(self.COLORS))
        self.assertEqual(background, PAGES["dark" if dark else "light"])
        for color in texts:
            self.assertGreaterEqual(contrast(color, background), 4.5, (color, background))
        if count:
            self.assertGreaterEqual(contrast(as_hex(browser.ask(self.INK)), background), 7)

    def test_hadrons(self):
        self.check("hadrons")

    def test_ensemble(self):
        self.check("ensemble")

    def test_study(self):
        self.check("study")

    def test_dynamics(self):
        self.check("dynamics")

    def test_that_an_overflow_is_seen(self):
        """These tests can fail."""
        with open(self.path("wide.html"), "w") as stream:
            stream.write("<!doctype html><body><p style='width: 3000px'>wide</p><img src='missing.png'><svg></svg></body>")
        with Browser(self.path("profile")) as browser:
            browser.show(self.path("wide.html"), 400, False)
            self.assertGreater(browser.ask("document.documentElement.scrollWidth"), 400)
            self.assertEqual(len(browser.ask(self.OVERFLOW)), 1)
            self.assertEqual(browser.ask(self.EMPTY), 1)
            self.assertTrue(any("missing.png" in str(one) for one in browser.complaints()))


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
