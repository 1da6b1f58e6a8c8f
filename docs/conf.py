"""The site: read by Sphinx, which `make docs` runs over a copy of this folder."""

project = "planscope"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "planscope"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
myst_heading_anchors = 3
pygments_dark_style = "github-dark"
