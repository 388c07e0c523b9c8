"""How Sphinx builds the site: ``make docs``."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from notebooks import NotebookParser
from written import write_pages

project, author, copyright = "FFML", "The FFML developers", "The FFML developers"
release = version = installed("ffml")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "excerpts",
]
exclude_patterns = ["_build", "snippets"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "html_image"]
suppress_warnings = ["ref.python"]  # two rooms have a `Round`
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
# scikit-learn makes these by itself, with references to its own glossary.
REQUESTS = [f"set_{name}_request" for name in ("fit", "partial_fit", "predict", "predict_proba")]
REQUESTS += ["set_score_request", "set_decision_function_request", "set_predict_log_proba_request"]
autodoc_default_options = {"members": True, "exclude-members": ",".join(REQUESTS)}
napoleon_use_ivar = True  # or fields that are documented twice are described twice
copybutton_exclude = ".linenos, .gp"

html_theme = "pydata_sphinx_theme"
html_title = "FFML"
html_context = {"default_mode": "auto"}  # light or dark
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_search_summary = False  # `excerpts` shows them, and needs no server
html_scaled_image_link = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app):
    """Write the pages that come from the program itself before anything is read; take notebooks."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
