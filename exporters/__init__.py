"""Formats in which a version leaves the store. Installed as `prd_edge.exporters`.

Found by entry points of the group `prd_edge.exporters`, so that other packages can add formats;
docs/exporters.md shows how.

base.py         what an exporter is, and what is done for each
pictures.py     pictures to fit and to check with
certificate.py  what a check has found
graph.py        preprocessing, encoder and readout in one ONNX graph
onnx.py         one self-contained file
int8.py         the same, its encoder in eight bits
web.py          a folder with a page, which is in web_page/; web_runtime.py has what runs it
"""
