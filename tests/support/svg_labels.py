"""The texts of a figure, as its SVG file has them."""

from xml.etree import ElementTree

from histoeval.view.figures.canvas import Canvas


def labels(picture: Canvas) -> list[str]:
    texts = ElementTree.fromstring(picture.svg()).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]
