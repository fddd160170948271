#!/usr/bin/env python3
"""Makes the book of docs/ by mdBook (book.toml), and fails if a page of it links to what the book does not have.

Usage: scripts/book.py     in any folder; the book is target/book

The pages outside docs/ that people read come in as pages too. Links to the sources become their text, for a book has no sources.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES, BOOK = ROOT / "target/book-sources", ROOT / "target/book"
OUTSIDE = {"README.md": "Tern", "CONTRIBUTING.md": "Contributing", "SECURITY.md": "Reporting faults of security", "CHANGELOG.md": "Changes"}
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()#:\s]+)(#[^()\s]*)?\)")


def inside(page, text):
    """The text of `page`, a path below the root, with links as they are in the book."""

    def link(found):
        words, target, place = found.group(1), found.group(2), found.group(3) or ""
        path = pathlib.PurePath(os.path.normpath(page.parent / target))
        if path.parts[0] == "docs" and (ROOT / path).is_file():
            path = path.relative_to("docs")
        elif str(path) not in OUTSIDE and not path.name.startswith("LICENSE"):
            return words
        folder = page.parent.relative_to("docs") if page.parts[0] == "docs" else page.parent
        # mdBook makes README.md the page index.html of its folder, but leaves links to it.
        path = path.with_name("index.md") if path.name == "README.md" else path
        return f"[{words}]({os.path.relpath(path, folder)}{place})"

    return LINK.sub(link, text)


def gather():
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCES)
    for licence in ROOT.glob("LICENSE-*"):
        shutil.copy(licence, SOURCES)
    pages = [path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")] + [pathlib.PurePath(name) for name in OUTSIDE]
    for page in pages:
        place = SOURCES / (page.relative_to("docs") if page.parts[0] == "docs" else page)
        if page.name != "SUMMARY.md":
            place.write_text(inside(page, (ROOT / page).read_text()))
    summary = SOURCES / "SUMMARY.md"
    first, *others = (f"[{title}]({name})" for name, title in OUTSIDE.items())
    heading, text = summary.read_text().split("\n", 1)
    summary.write_text("\n".join([heading, "", first, text.rstrip("\n"), "", "---", "", *others, ""]))


def lost():
    """Links of the book that lead nowhere."""
    for page in BOOK.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            if "://" not in target and not target.startswith(("mailto:", "data:")) and page.name not in ("404.html", "print.html"):
                if not (page.parent / target).exists():
                    yield f"{page.relative_to(BOOK)}: {target}"


def main():
    if not shutil.which("mdbook"):
        sys.exit("book.py: mdbook is missing: cargo install mdbook")
    gather()
    subprocess.run(["mdbook", "build"], cwd=ROOT, env={**os.environ, "MDBOOK_BOOK__SRC": str(SOURCES.relative_to(ROOT))}, check=True)
    wrong = sorted(set(lost()))
    print(*wrong, sep="\n")
    sys.exit(f"book.py: {len(wrong)} links lead nowhere" if wrong else 0)


main()
