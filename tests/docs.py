"""Checks the documentation against the repository, the built book and the program.

usage: docs.py BOOK PROGRAM     (from the root of the repository; standard library only)

- every page of docs/ is in SUMMARY.md;
- links of pages and of the book lead to files and headings that exist;
- files that are named in the text (`crates/..`) exist, and tests that are named (`FILE.rs::TEST`) are in them;
- every --flag of a command that is shown is in that command's --help, every other in some command's;
- blocks marked ```console run are executed, page by page, each page in an empty folder of its own. A line that
  starts with `$ ` is a command, which must succeed. The others are output that must appear, in order; `..`
  stands for anything. In blocks marked ```console run about, a number stands for any number.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

PAGES = sorted(Path("docs").glob("*.md"))
OTHERS = [Path(name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/README.md")]
# What a path in the text starts with. Paths in generated folders (runs/, target/) are examples.
ROOTS = ("crates/", "docs/", "fuzz/", "results/", "tests/", ".ci/", ".github/")
# Flags of mpirun and cargo that the text names.
FLAGS_OF_OTHERS = {"--bind-to", "--map-by", "--mca", "--release", "--locked", "--overlap", "--features", "--card"}
FENCE = re.compile(r"^ *```(.*)$")

faults = []


def fault(place, message):
    faults.append(f"{place}: {message}")


def blocks_and_prose(path):
    """Code blocks as (first line, info string, lines), and the text without them."""
    blocks, prose, block = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if fence and block is None:
            block = (number, fence[1].strip(), [])
        elif fence:
            blocks.append(block)
            block = None
        elif block:
            block[2].append(line)
        elif line.startswith("    "):
            blocks.append((number, "", [line[4:]]))
        else:
            prose.append(line)
    if block:
        fault(f"{path}:{block[0]}", "the code block is not closed")
    return blocks, "\n".join(prose)


def slug(heading):
    """The anchor of a heading, as GitHub and mdBook make it."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[*`]", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    return {slug(line.lstrip("#")) for line in path.read_text().splitlines() if line.startswith("#")}


def check_links(path, prose):
    without_code = re.sub(r"`[^`]*`", "", prose)
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists():
            fault(path, f"the link {target} leads nowhere")
        elif path in PAGES and name.endswith(".md") and file not in PAGES:
            fault(path, f"the link {target} leaves docs/, and mdBook would make it .html: link to the folder")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            fault(path, f"{file} has no heading {anchor}")


def check_names(path, prose):
    """Files and tests that the text names."""
    for code in re.findall(r"`([^`]+)`", prose):
        name, _, test = code.partition("::")
        if not name.startswith(ROOTS) or re.search(r"[*{<… ]", name):
            continue
        file = Path(name)
        if not file.exists():
            fault(path, f"there is no {name}")
        elif test and not re.search(rf"\b(fn|struct|enum|trait|const) {re.escape(test)}\b", file.read_text()):
            fault(path, f"{name} has no {test}")


class Book(HTMLParser):
    """Links and anchors of one page of the book."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check_book(folder):
    pages = {page.resolve(): Book(page.read_text()) for page in folder.glob("*.html")}
    for page, book in pages.items():
        # It repeats all pages in one, where their links to each other are rewritten.
        if page.name in ("print.html", "404.html"):
            continue
        for link in book.links:
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = urllib.parse.unquote(link).partition("#")
            file = (page.parent / name).resolve() if name else page
            if not file.exists():
                fault(f"book/{page.name}", f"the link {link} leads nowhere")
            elif anchor and file in pages and anchor not in pages[file].ids:
                fault(f"book/{page.name}", f"{file.name} has no anchor {anchor}")


def join(lines):
    """A backslash joins lines."""
    return re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()


def commands(info, lines):
    """The program's command lines of a block, as words."""
    language = info.split()[:1]
    if language not in ([], ["sh"], ["console"]):
        return
    for line in join(lines):
        if language == ["console"] and not line.startswith("$ "):
            continue
        for part in re.split(r"&&|\|", line.removeprefix("$ ")):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue
            if words[:4] == ["cargo", "run", "--release", "--"]:
                yield words[4:]
            elif "kuramoto" in (Path(word).name for word in words[:4]):
                at = [Path(word).name for word in words].index("kuramoto")
                yield words[at + 1 :]


def check_prose_flags(path, prose, all_helps):
    """Flags that the text names, outside of command lines."""
    for code in re.findall(r"`([^`]+)`", prose):
        flag = re.match(r"--[a-z][a-z-]*", code)
        if flag and flag[0] not in FLAGS_OF_OTHERS and not re.search(rf"{flag[0]}\b(?!-)", all_helps):
            fault(path, f"no command has {flag[0]}")


def check_flags(place, info, lines, help_of):
    for words in commands(info, lines):
        name = [word for word in words[:2] if re.fullmatch(r"[a-z]+", word)]
        name = name[:2] if name[:1] == ["lab"] else name[:1]
        text = help_of(tuple(name))
        if text is None:
            fault(place, f"there is no command kuramoto {' '.join(name)}")
            continue
        for word in words:
            flag = word.partition("=")[0].strip("[]")
            if re.fullmatch(r"--[a-z][a-z-]*", flag) and not re.search(rf"{flag}\b(?!-)", text):
                fault(place, f"kuramoto {' '.join(name)} has no {flag}")


def run_page(path, blocks, program):
    """Executes the blocks of a page and compares what they print with what is shown."""
    blocks = [block for block in blocks if block[1].split()[:2] == ["console", "run"]]
    if not blocks:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, KURAMOTO_CACHE=f"{folder}/.cache", COLUMNS="120")
        environment["PATH"] = f"{program.parent.resolve()}{os.pathsep}{environment['PATH']}"
        for number, info, lines in blocks:
            about = "about" in info.split()
            shown = []
            for line in [*join(lines), "$ "]:
                if not line.startswith("$ "):
                    shown.append(line)
                    continue
                # The output of the command before is complete.
                if shown:
                    compare(f"{path}:{number}", command, shown, output, about)
                shown, command = [], line[2:]
                if not command:
                    continue
                began = time.monotonic()
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    text=True,
                    errors="replace",
                    timeout=300,
                )
                output = done.stdout
                print(f"  {path}:{number}  {time.monotonic() - began:4.1f} s  {command}")
                if done.returncode != 0:
                    fault(f"{path}:{number}", f"`{command}` exits with {done.returncode}:\n{output}")
    return len(blocks)


def pattern_of(line, about):
    """What a shown line stands for; runs of spaces are alike."""
    parts = [re.escape(" ".join(part.split())).replace(r"\ ", r"\s*") for part in line.split("..")]
    if about:
        parts = [re.sub(r"(\\[+\-])?\d+((,|\\\.)\d+)*", r"[-+]?[\\d.,]*\\d", part) for part in parts]
    return re.compile(".*".join(parts))


def compare(place, command, shown, output, about):
    rest = output.splitlines()
    for line in shown:
        if not line.strip() or line.strip() == "..":
            continue
        pattern = pattern_of(line, about)
        at = next((i for i, found in enumerate(rest) if pattern.fullmatch(" ".join(found.split()))), None)
        if at is None:
            fault(place, f"`{command}` does not print, in this order: {line}\nbut:\n{output}")
            return
        rest = rest[at + 1 :]


def main():
    book, program = Path(sys.argv[1]), Path(sys.argv[2])
    summary = Path("docs/SUMMARY.md")
    listed = {Path("docs") / name for name in re.findall(r"\]\(([^)]+)\)", summary.read_text())}
    for page in PAGES:
        if page != summary and page not in listed:
            fault(summary, f"{page} is not in it")

    helps = {}

    def help_of(name):
        if name not in helps:
            done = subprocess.run([program, *name, "--help"], capture_output=True, text=True)
            helps[name] = done.stdout if done.returncode == 0 else None
        return helps[name]

    names = re.findall(r"^  ([a-z]+) ", help_of(()), re.M)
    lab = re.findall(r"^  ([a-z]+) ", help_of(("lab",)), re.M)
    all_helps = "\n".join(help_of((name,)) or "" for name in names)
    all_helps += "\n".join(help_of(("lab", name)) or "" for name in lab)

    executed = 0
    for path in [*PAGES, *(other for other in OTHERS if other.exists())]:
        blocks, prose = blocks_and_prose(path)
        check_links(path, prose)
        check_names(path, prose)
        # The changelog also names what is gone.
        if path.name != "CHANGELOG.md":
            check_prose_flags(path, prose, all_helps)
        for number, info, lines in blocks:
            check_flags(f"{path}:{number}", info, lines, help_of)
        executed += run_page(path, blocks, program)
    check_book(book)
    for line in faults:
        print(line)
    if faults:
        sys.exit(f"{len(faults)} faults in the documentation")
    print(f"{len(PAGES)} pages, {executed} blocks of commands executed, no faults")


main()
