"""The report as a page, drawn by Chromium: a small model with hostile names, and one of 5,000 nodes."""
import html.parser
import json
import os
import pathlib
import re
import subprocess

import numpy as np
import onnx
from onnx import helper, numpy_helper

import chromium
import figures
from checks import check

BUILD = pathlib.Path(os.environ["B"])
WORK = BUILD / "reports"


class Dom(html.parser.HTMLParser):
    """The elements of a dumped document, [(tag, attributes, text inside)], without the report's own text."""
    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.script = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        e = [tag, dict(attrs), ""]
        self.elements.append(e)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(e)

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for e in self.open:
            e[2] += data

    def find(self, tag, **attributes):
        return [e for e in self.elements if e[0] == tag and all(e[1].get(k.replace("_", "-")) == v for k, v in attributes.items())]


def page(model, name, *options):
    p = subprocess.run([BUILD / "onnxcc", model, "-o", WORK / f"{name}.c", "--report=html", *options], capture_output=True, timeout=300)
    check(p.returncode == 0 and p.stdout.isascii(), f"{name}: {p.stderr.decode()}")
    return p.stdout.decode()


def drawn(name, text, then=""):
    """The document after its scripts and the script `then` have run; an exception becomes an attribute of the root."""
    watch = "<script>addEventListener('error', e => document.documentElement.setAttribute('data-error', e.message));</script>"
    file = WORK / f"{name}.html"
    file.write_text(text.replace("<head>", "<head>" + watch).replace("</body>", f"<script>{then}</script></body>"))
    text, said = chromium.document(file, WORK / "home")
    root = re.match(r"<!DOCTYPE html>\s*<html[^>]*>", text)
    check(root and "data-" not in root[0], f"{name}: {root and root[0]} {said[-300:]}")
    return text


OWN = "document.documentElement.setAttribute('data-owned', 1)"
HOSTILE = [f"</script><script>{OWN}</script>", f"\"><img src=x onerror=\"{OWN}\">", "<!--<script>", "it's `a` & &lt;b&gt; ${x}",
           "\u2028\u202e \U0001f600", "__proto__"]


def small():
    """The names of inputs, nodes, tensors and the output are shown as text; hovering shows what shares bytes; a click sorts."""
    x, a, b, c, d, y = HOSTILE
    nodes = [helper.make_node("MatMul", [x, "w"], [a], name=a), helper.make_node("Softmax", [a], [b], name=b),
             helper.make_node("ReduceMax", [b], [c], name=c, axes=[1], keepdims=1), helper.make_node("MatMul", [b, "v"], [d], name=d),
             helper.make_node("MatMul", [c, d], [y], name=y)]
    weights = [numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in (("w", (8, 8)), ("v", (8, 1)))]
    info = [helper.make_tensor_value_info(n, 1, s) for n, s in ((x, [1, 8]), (y, [1, 1]))]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), WORK / "hostile.onnx")
    steps = len(json.loads(figures.report(WORK / "hostile.onnx", "json"))["steps"])
    (WORK / "ticks").write_text("runs 2\nunit ns\nby <b>\n" + "".join(f"{4000 * i}\n" for i in range(steps)))
    text = page(WORK / "hostile.onnx", "hostile", "--prefix", "hostile", "--ticks", WORK / "ticks")
    outside = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)
    check(not re.search(r"https?:|\bsrc=|@import|url\(|fetch\(|XMLHttp", outside), "the page needs the network")
    report = json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.S)[1])
    at = next(i for i, t in enumerate(report["tensors"]) if t["name"] == b and t["kind"] == "tensor")
    pointed = report["tensors"][at].get("part_of", at)
    dom = Dom(drawn("hostile", text, f"""
        document.querySelector('#arena [data-t="{pointed}"]').dispatchEvent(new Event('mouseover', {{bubbles: true}}));
        document.querySelector('th[data-k=written]').click(); document.querySelector('#table tr[data-s="1"]').click();"""))
    rows = [e[2] for e in sorted((e for e in dom.find("tr") if "data-s" in e[1]), key=lambda e: int(e[1]["data-s"]))]
    check(all(f"{2 * i} \u00b5s" in r for i, r in enumerate(rows) if i), f"hostile: times: {rows}")
    check(len(rows) == len(report["steps"]) and all(any(n in r for r in rows) for n in (a, b, c, d, y)), f"hostile: the table's rows: {rows}")
    boxes = {e[1]["data-s"] for e in dom.find("rect") if "data-s" in e[1]}
    check(boxes == {str(i) for i in range(len(report["steps"]))}, f"hostile: the graph's boxes: {boxes}")
    blocks = {int(e[1]["data-t"]) for e in dom.find("rect") if "data-t" in e[1]}
    own = {i for i, t in enumerate(report["tensors"]) if t["region"] == "arena" and "part_of" not in t and t["bytes"]}
    check(own and own <= blocks, f"hostile: blocks of the arena {blocks}, tensors {own}")
    tip = dom.find("div", id="tip")[0][2]
    check(b in tip and "32 bytes" in tip and "shares its bytes with" in tip, f"hostile: the tip: {tip}")
    check(len(dom.find("script")) == 4 and not dom.find("img"), "hostile: a name became an element")
    order = [int(e[1]["data-s"]) for e in dom.find("tr") if "data-s" in e[1]]
    most = [report["steps"][i]["written"] for i in order]
    check(most == sorted(most, reverse=True), f"hostile: sorted by bytes written: {most}")
    check([e[1]["data-s"] for e in dom.find("tr", **{"class": "on"})] == ["1"], "hostile: the row that was clicked")


def large():
    """Every node has a step, a box and a row; the page has less than a kilobyte per node."""
    nodes = []
    for i in range(1667):
        nodes += [helper.make_node("Softmax", [f"x{i}"], [f"a{i}"], name=f"/{i}/a"),
                  helper.make_node("Gemm", [f"x{i}", "w"], [f"b{i}"], name=f"/{i}/b"),
                  helper.make_node("MatMul", [f"a{i}", f"b{i}"], [f"x{i + 1}"], name=f"/{i}/c")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x0", 1, [8, 8])], [helper.make_tensor_value_info("x1667", 1, [8, 8])],
                              [numpy_helper.from_array(np.ones((8, 8), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), WORK / "large.onnx")
    text = page(WORK / "large.onnx", "large")
    check(len(text) < 1000 * len(nodes), f"large: {len(text)} bytes")
    document = drawn("large", text)
    rows, boxes, edges = (document.count(f"<{begin}") for begin in ('tr data-s="', 'rect data-s="', 'path class="edge"'))
    check(rows == boxes == len(nodes), f"large: {rows} rows, {boxes} boxes")
    check(edges == 4 * 1667 + 1, f"large: {edges} edges")     # x to a and b, these to c; c to the output
