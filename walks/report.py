"""Open the reports of concepts, a table and maps in a browser (needs theodolite[ci,explain])."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import theodolite
from theodolite.datasets import digit_images, digit_strokes, planted_shapes

# Every fourth digit of the demo, with the strokes that it has.
digits = {name: a[::4] if len(a) > 800 else a for name, a in digit_strokes().items()}
concepts = theodolite.audit(**digits, images=digit_images()[::4], resamples=100)

# Exact attributions of a linear model: weights times the distance from the mean.
rows, weights = np.random.default_rng(0).normal(size=(100, 8)), np.linspace(-1, 2, 8)
exact = (rows - rows.mean(axis=0)) * weights
table = theodolite.audit_attributions(exact, rows, model=lambda x: x @ weights, resamples=100)

# Gradient x input of a network that was trained to see the color of one square.
net, images, masks = planted_shapes(60)
net(images.requires_grad_()).max(1).values.sum().backward()
values = images.detach() * images.grad
maps = theodolite.audit_saliency(values, images.detach(), model=net, masks=masks, quick=True)

# Each report: who passes, what must be seen four times, and words that only others may have.
reports = {
    "concepts": (concepts, ["exists"], ".whole svg", ["strongest pixels", "attributions predict"]),
    "table": (table, ["faithful"], "table", ["concept", "strongest pixels"]),
    "maps": (maps, ["located", "faithful"], "img", ["each concept", "attributions predict"]),
}
path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
    for name, (result, passed, seen, strange) in reports.items():
        assert all(result.verdicts[question].answer == "yes" for question in passed), result
        report = result.report(Path(folder, f"{name}.html"))
        for width in (1280, 400):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(report.as_uri())
            assert page.locator(f"#images .example {seen}").filter(visible=True).count() >= 4
            # With all folds open: nothing to scroll sideways, nothing that a reader stumbles on.
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert Axe().run(page).response["violations"] == []
            text = page.locator("body").inner_text()
            assert text.lower().count("not evaluated") <= 1
            assert not [words for words in (*strange, "Would people agree?") if words in text]
            page.close()
        print(f"{name}: passes {', '.join(passed)}; shown at 1280 and 400, axe finds nothing")
