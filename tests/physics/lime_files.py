"""LIME files read and written with numpy and the standard library only: gauge fields (ILDG, SciDAC) and propagators.

Nothing here comes from Quadrille: the tests use this file to check what Quadrille reads and writes.

Arrays: links [t, z, y, x, mu, row, column]; propagators [t, z, y, x, sink spin, source spin, sink color,
source color]; always complex double in memory. `dims` is x, y, z, t.
"""

import re
import struct
import zlib
from collections import namedtuple

import numpy as np

MAGIC = 0x456789AB
Record = namedtuple("Record", "type data begin end offset")

XML = '<?xml version="1.0" encoding="UTF-8"?>'


class FileError(Exception):
    pass


def read_records(path):
    """All LIME records of a file, each with its flags and the offset of its header."""
    with open(path, "rb") as stream:
        content = stream.read()
    records, position = [], 0
    while position < len(content):
        if len(content) - position < 144:
            raise FileError(f"{path}: a header is cut off at byte {position}")
        magic, version, flags, _, length = struct.unpack_from(">IHBBQ", content, position)
        if magic != MAGIC or version != 1:
            raise FileError(f"{path}: no LIME header at byte {position}")
        kind = content[position + 16 : position + 144].split(b"\0")[0].decode()
        start = position + 144
        if start + length > len(content):
            raise FileError(f"{path}: record {kind} at byte {position} is cut off")
        records.append(
            Record(kind, content[start : start + length], bool(flags & 0x80), bool(flags & 0x40), position)
        )
        position = start + (length + 7) // 8 * 8
    return records


def write_records(path, records):
    """Write (type, data, begin, end) tuples as LIME records."""
    with open(path, "wb") as stream:
        for kind, data, begin, end in records:
            flags = (0x80 if begin else 0) | (0x40 if end else 0)
            stream.write(struct.pack(">IHBBQ128s", MAGIC, 1, flags, 0, len(data), kind.encode()))
            stream.write(data + b"\0" * (-len(data) % 8))


def rotate_left(word, bits):
    return ((word << bits) | (word >> (32 - bits))) & 0xFFFFFFFF if bits else word


def scidac_checksum(data, sites):
    """suma and sumb of a binary record: CRC32 of each site's bytes, rotated by the site's rank modulo 29 and 31."""
    size = len(data) // sites
    suma = sumb = 0
    for rank in range(sites):
        crc = zlib.crc32(data[rank * size : (rank + 1) * size])
        suma ^= rotate_left(crc, rank % 29)
        sumb ^= rotate_left(crc, rank % 31)
    return suma, sumb


def tag(record, name):
    """The text of the first element `name` of an XML record, without white space around it; None when it has none."""
    match = re.search(rf"<{name}>\s*(.*?)\s*</{name}>", record.data.rstrip(b"\0").decode(), re.S)
    return match.group(1) if match else None


def one_record(records, kind, path):
    found = [record for record in records if record.type == kind]
    if len(found) != 1:
        raise FileError(f"{path}: {len(found)} records of type {kind}, not 1")
    return found[0]


def verified(records, data, sites, path):
    """The (suma, sumb) of `data`, after comparing it with the file's own scidac-checksum record."""
    record = one_record(records, "scidac-checksum", path)
    stated = int(tag(record, "suma"), 16), int(tag(record, "sumb"), 16)
    computed = scidac_checksum(data, sites)
    if stated != computed:
        raise FileError(f"{path}: checksum {computed[0]:x} {computed[1]:x}, the file says {stated[0]:x} {stated[1]:x}")
    return computed


def to_complex(data, precision):
    return np.frombuffer(data, dtype=">f8" if precision == 64 else ">f4").astype(np.float64).view(np.complex128)


def to_bytes(array, precision):
    flat = np.ascontiguousarray(array, dtype=np.complex128).reshape(-1).view(np.float64)
    return flat.astype(">f8" if precision == 64 else ">f4").tobytes()


def read_gauge(path):
    """Links of an ILDG file or of a SciDAC file without ILDG records, and a dict: dims, precision, checksum."""
    records = read_records(path)
    kinds = [record.type for record in records]
    if "ildg-format" in kinds:
        form = one_record(records, "ildg-format", path)
        if tag(form, "field") != "su3gauge":
            raise FileError(f"{path}: field {tag(form, 'field')}")
        dims = [int(tag(form, name)) for name in ("lx", "ly", "lz", "lt")]
        precision = int(tag(form, "precision"))
        binary = one_record(records, "ildg-binary-data", path)
    else:
        dims = [int(word) for word in tag(one_record(records, "scidac-private-file-xml", path), "dims").split()]
        precision = {"F": 32, "D": 64}[tag(one_record(records, "scidac-private-record-xml", path), "precision")]
        binary = one_record(records, "scidac-binary-data", path)
    sites = int(np.prod(dims))
    if len(binary.data) != sites * 4 * 18 * precision // 8:
        raise FileError(f"{path}: {len(binary.data)} bytes of links for {dims} at {precision} bits")
    checksum = verified(records, binary.data, sites, path)
    links = to_complex(binary.data, precision).reshape(dims[::-1] + [4, 3, 3])
    return links, {"dims": dims, "precision": precision, "checksum": checksum, "records": kinds}


def write_gauge(path, links, precision=64, order="qio", checksum=None):
    """Write an ILDG file in the record order of QIO or of tmLQCD. `checksum` replaces the right (suma, sumb)."""
    dims = links.shape[3::-1]
    data = to_bytes(links, precision)
    suma, sumb = checksum or scidac_checksum(data, int(np.prod(dims)))
    sums = (
        f"{XML}<scidacChecksum><version>1.0</version><suma>{suma:x}</suma><sumb>{sumb:x}</sumb></scidacChecksum>"
    ).encode()
    form = (
        f'{XML}<ildgFormat xmlns="http://www.lqcd.org/ildg"><version>1.0</version><field>su3gauge</field>'
        f"<precision>{precision}</precision><lx>{dims[0]}</lx><ly>{dims[1]}</ly><lz>{dims[2]}</lz><lt>{dims[3]}</lt>"
        "</ildgFormat>"
    ).encode()
    if order == "tmlqcd":
        write_records(
            path,
            [
                ("xlf-info", b"plaquette = 0.5\n trajectory nr = 0\n", True, True),
                ("ildg-format", form, True, False),
                ("ildg-binary-data", data, False, False),
                ("scidac-checksum", sums, False, True),
            ],
        )
        return
    file_xml = (
        f"{XML}<scidacFile><version>1.1</version><spacetime>4</spacetime>"
        f"<dims>{dims[0]} {dims[1]} {dims[2]} {dims[3]} </dims><volfmt>0</volfmt></scidacFile>"
    ).encode()
    letter = "D" if precision == 64 else "F"
    record_xml = (
        f"{XML}<scidacRecord><version>1.1</version><date>Thu Jan  1 00:00:00 1970 UTC</date>"
        f"<recordtype>0</recordtype><datatype>QDP_{letter}3_ColorMatrix</datatype><precision>{letter}</precision>"
        f"<colors>3</colors><spins>1</spins><typesize>{18 * precision // 8}</typesize><datacount>4</datacount>"
        "</scidacRecord>"
    ).encode()
    write_records(
        path,
        [
            ("scidac-private-file-xml", file_xml + b"\0", True, False),
            ("scidac-file-xml", b"<title>a random field</title>\0", False, True),
            ("scidac-private-record-xml", record_xml + b"\0", True, False),
            ("scidac-record-xml", b"<info/>\0", False, False),
            ("ildg-format", form + b"\0", False, False),
            ("ildg-binary-data", data, False, False),
            ("scidac-checksum", sums + b"\0", False, True),
        ],
    )


def read_propagator(path, dims):
    """A propagator file as QIO writes it (one record with all spins and colors), its checksum verified."""
    records = read_records(path)
    stated = [int(word) for word in tag(one_record(records, "scidac-private-file-xml", path), "dims").split()]
    if stated != list(dims):
        raise FileError(f"{path}: extents {stated}, not {list(dims)}")
    private = one_record(records, "scidac-private-record-xml", path)
    precision = {"F": 32, "D": 64}[tag(private, "precision")]
    facts = [int(tag(private, name)) for name in ("colors", "spins", "typesize", "datacount")]
    if facts != [3, 4, 288 * precision // 8, 1]:
        raise FileError(f"{path}: colors, spins, typesize, datacount are {facts}")
    one_record(records, "scidac-record-xml", path)
    binary = one_record(records, "scidac-binary-data", path)
    sites = int(np.prod(dims))
    if len(binary.data) != sites * 288 * precision // 8:
        raise FileError(f"{path}: {len(binary.data)} bytes of propagator for {list(dims)} at {precision} bits")
    verified(records, binary.data, sites, path)
    return to_complex(binary.data, precision).reshape(list(dims)[::-1] + [4, 4, 3, 3]), precision
