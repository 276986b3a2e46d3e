"""What mkdocs.yml's site is made of.

Every page and picture has the repository's path, so that a link leads to the same file here and in
the repository. Source files that pages link to are a part of the site, as they are.
"""

import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
TEXTS = "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pretrained/README.md"


def on_files(files, config):
    """Lists the files of the site in place of those that mkdocs finds in docs/."""
    found = {
        *(ROOT / text for text in TEXTS),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("docs/images/*"),
    }
    for page in [path for path in found if path.suffix == ".md"]:
        links = re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8"))
        found |= {path for link in links if (path := (page.parent / link).resolve()).is_file()}
    site = Files([file for file in files if file.src_dir != config.docs_dir])  # the theme's
    for path in sorted(found):
        name = path.relative_to(ROOT).as_posix()
        site.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    for name in api_pages(config.nav):
        text = f"# {name}\n\n::: {name}\n"
        if name == "rrn":  # its packages have pages of their own
            text += "    options:\n      show_submodules: false\n"
        site.append(File.generated(config, f"api/{name}.md", content=text))
    return site


def api_pages(nav):
    """Returns the packages and modules whose docstrings have a page of their own."""
    (pages,) = [part["API"] for part in nav if isinstance(part, dict) and "API" in part]
    return [name for page in pages for name in page]
