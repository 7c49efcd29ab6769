"""Small documents made on the spot: Word, PDF, HL7 and FHIR."""

import base64
import io
import zipfile
from collections.abc import Sequence

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str, name: str = "word/document.xml") -> bytes:
    xml = f'<w:document xmlns:w="{WORD}" xmlns:mc="{MC}"><w:body>{body}</w:body></w:document>'
    return zipped({name: xml.encode()})


MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return packed.getvalue()


def paragraphs(*texts: str) -> str:
    return "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)


def pdf(*pages: Sequence[str]) -> bytes:
    """A PDF with lines of text on each page; a page without lines is blank."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj 0 -20 Td" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td {shown} ET".encode()
        objects.append(b"<< /Length %d >> stream\n%s\nendstream" % (len(stream), stream))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R"
            b" >> >> /Contents %d 0 R >>" % len(objects)
        )
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    objects[1] = f"<< /Type /Pages /Kids [{listed}] /Count {len(kids)} >>".encode()
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = "".join(f"{place:010d} 00000 n \n" for place in places).encode()
    size = len(objects) + 1
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n" % size
        + table
        + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(out))
    )


def oru(number: str, *observations: str, charset: str = "", kind: str = "ORU^R01") -> str:
    """A message with one order and these observations, each from OBX-2 on."""
    head = f"MSH|^~\\&|LIS|LAB|EPR|HOSP|20260101||{kind}|1|P|2.5||||||{charset}"
    rows = [f"OBX|{n}|{each}" for n, each in enumerate(observations, start=1)]
    return "\r".join([head, "PID|1||4711", f"OBR|1||{number}|11529-5^Pathology^LN", *rows]) + "\r"


def diagnostic_report(name: str, **fields: object) -> dict[str, object]:
    return {"resourceType": "DiagnosticReport", "id": name, "status": "final", **fields}


def presented(text: str | bytes, kind: str = "text/plain") -> list[dict[str, str]]:
    content = text.encode() if isinstance(text, str) else text
    return [{"contentType": kind, "data": base64.b64encode(content).decode()}]
