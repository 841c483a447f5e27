"""A chart's Vega-Lite as files with a mark. The renderer, which is not Python, may abort its process: one that imports little else
is started again soon."""

import json
import zlib

import vl_convert


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


AFTER_HEADER = 33  # bytes: a PNG's signature and its first chunk, which has the size of the picture
# By which a picture that may be replaced is known, and how far into the file it is. Vega's own pictures have none.
MARKS = {
    "svg": (b'<svg data-generator="occbench" ', 0),
    "png": (png_chunk(b"tEXt", b"Software\0occbench"), AFTER_HEADER),
    "json": (b'{\n "config": {\n  "font": ', 0),
}


def pictures_of(chart: dict, formats: list[str]) -> dict[str, bytes]:
    contents = {}
    svg = vl_convert.vegalite_to_svg(chart) if {"svg", "png"} & set(formats) else ""
    for name in formats:
        if name == "svg":
            contents[name] = svg.encode().replace(b"<svg ", MARKS["svg"][0], 1)
        elif name == "png":
            png = vl_convert.svg_to_png(svg, scale=2)
            contents[name] = png[:AFTER_HEADER] + MARKS["png"][0] + png[AFTER_HEADER:]
        else:
            contents[name] = (json.dumps(chart, indent=1) + "\n").encode()
    return contents
