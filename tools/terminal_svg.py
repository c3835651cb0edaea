#!/usr/bin/env -S python3 -B
"""terminal_svg.py < SCREEN > PICTURE: draws what `tmux capture-pane -ep` printed as an SVG."""
import html
import re
import sys

WIDTH, HEIGHT, MARGIN = 8.4, 18, 14
COLOURS = ["#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf"]
PLAIN, GROUND = "#d7dae0", "#21252b"
STYLE = re.compile(r"\x1b\[([0-9;]*)m")


def apply(codes, colour, bold):
    for code in (int(part or 0) for part in codes.split(";")):
        if code == 0:
            colour, bold = PLAIN, False
        elif code == 1:
            bold = True
        elif code == 2:
            colour = COLOURS[0]
        elif code == 22:
            bold = False
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colour = COLOURS[code % 10]
        elif code == 39:
            colour = PLAIN
    return colour, bold


def spans(line, colour, bold):
    """[(column, text, colour, bold)], and the style the next line begins with."""
    found, column = [], 0
    for index, part in enumerate(STYLE.split(line)):
        if index % 2:
            colour, bold = apply(part, colour, bold)
        elif part:
            found.append((column, part, colour, bold))
            column += len(part)
    return found, colour, bold


def main():
    lines = sys.stdin.read().rstrip().split("\n")
    columns = max(len(STYLE.sub("", line).rstrip()) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
          f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">')
    print(f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>')
    colour, bold = PLAIN, False
    for row, line in enumerate(lines):
        found, colour, bold = spans(line, colour, bold)
        for column, text, fill, heavy in found:
            if not text.strip():
                continue
            weight = ' font-weight="bold"' if heavy else ""
            print(f'<text x="{MARGIN + column * WIDTH:.1f}" y="{MARGIN + (row + 0.75) * HEIGHT:.1f}" '
                  f'textLength="{len(text) * WIDTH:.1f}" fill="{fill}"{weight}>{html.escape(text)}</text>')
    print("</svg>")


main()
