#!/usr/bin/env bash
# Compiles report.tex of every plan folder given, and of the results kept here, with LaTeX: no error, no table that is
# wider than the page.
# usage: tests/latex.sh [FOLDER..]
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/common.sh

if ! { command -v pdflatex && kpsewhich booktabs.sty; } >/dev/null 2>&1; then
    packages texlive-latex-base texlive-latex-recommended
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for report in "${@/%//report.tex}" results/*/report.tex; do
    report=$(realpath "$report")
    folder=$(dirname "$report")
    printf '%s\n' '\documentclass{article}' '\usepackage{array,booktabs}' '\begin{document}' "\\input{$report}" \
        '\end{document}' >"$work/page.tex"
    # Lines of its log are not to be broken: what it says of boxes is read below.
    (cd "$work" && max_print_line=1000 pdflatex -interaction=nonstopmode -halt-on-error page.tex >page.out 2>&1) ||
        { grep -A5 '^!' "$work/page.out"; echo "$folder: LaTeX refuses it" >&2; exit 1; }
    if grep '^Overfull' "$work/page.log"; then
        echo "$folder: a table is wider than the page" >&2
        exit 1
    fi
    tables=$(grep -c 'begin{tabular}' "$report")
    [ "$tables" -gt 0 ] || { echo "$folder: no tables" >&2; exit 1; }
    echo "ok: $folder: $tables tables, $(grep -o '[0-9]* pages\{0,1\},' "$work/page.log" | tr -d ,)"
done
