"""For MkDocs: pictures that lie outside docs/ become part of the site."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
RESULTS = "benchmarks/results"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The plots of benchmarks, where the page of the benchmarks finds them."""
    for path in sorted([*(ROOT / RESULTS).glob("*.png"), *(ROOT / RESULTS).glob("*.svg")]):
        files.append(File.generated(config, f"plots/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to the plots, as they are in the site."""
    return markdown.replace(f"(../{RESULTS}/", "(plots/")
