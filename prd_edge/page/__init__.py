"""One self-contained HTML page of an evaluation: no script, no other file, no package but numpy.

plots.py  curves, matrix and map, each one SVG picture
page.py   what stands on the page
page.css  how it looks, on a screen and on paper
"""
