"""Mask pictures and label maps: what the bytes say, and nothing but faults for bytes that lie."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from segjudge.formats.pictures import PictureFault, picture_size, read_label_map, read_mask

PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def chunk(name, content=b""):
    return struct.pack(">L", len(content)) + name + content + struct.pack(">L", zlib.crc32(name + content))


def png(samples, depth=8, colour=0, *, interlaced=False, before=(), after=(), pieces=1):
    """A PNG of any depth and colour type, written by the letter of the specification."""
    samples = np.asarray(samples)
    rows = b"".join(
        b"\0" + pack(row, depth)
        for x, y, across, down in (PASSES if interlaced else ((0, 0, 1, 1),))
        for row in samples[y::down, x::across]
        if row.shape[0]
    )
    packed = zlib.compress(rows)
    step = -(-len(packed) // pieces)
    header = struct.pack(">2L5B", samples.shape[1], samples.shape[0], depth, colour, 0, 0, interlaced)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            *before,
            *(chunk(b"IDAT", packed[at : at + step]) for at in range(0, len(packed), step)),
            *after,
            chunk(b"IEND"),
        )
    )


def pack(row, depth):
    if depth >= 8:
        return row.astype(">u2" if depth == 16 else np.uint8).tobytes()
    bits = (row[:, None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.ravel().astype(np.uint8)).tobytes()


def tiff(samples, *, order="<", bits=None, packing=1, photometric=1, kind=1, strip_rows=None, extra=()):
    """A TIFF with one channel and strips, written by the letter of the specification."""
    samples = np.asarray(samples)
    bits = bits or samples.dtype.itemsize * 8
    strip_rows = strip_rows or samples.shape[0]
    raw = samples.astype(samples.dtype.newbyteorder(order))
    strips = []
    for top in range(0, samples.shape[0], strip_rows):
        rows = raw[top : top + strip_rows]
        content = rows.tobytes() if bits >= 8 else b"".join(pack(row, bits) for row in rows)
        strips.append(zlib.compress(content) if packing == 8 else content)
    places = [8 + sum(map(len, strips[:number])) for number in range(len(strips))]
    end = 8 + sum(map(len, strips))
    tags = {
        256: [samples.shape[1]], 257: [samples.shape[0]], 258: [bits], 259: [packing], 262: [photometric],
        273: places, 277: [1], 278: [strip_rows], 279: list(map(len, strips)), 339: [kind], **dict(extra),
    }  # fmt: skip
    lists = lines = b""
    for tag, values in sorted(tags.items()):
        content = struct.pack(f"{order}{len(values)}L", *values)
        if len(values) > 1:
            place = end + len(lists)
            lists, content = lists + content, struct.pack(order + "L", place)
        lines += struct.pack(order + "HHL", tag, 4, len(values)) + content
    magic = b"II*\0" if order == "<" else b"MM\0*"
    return b"".join((
        magic, struct.pack(order + "L", end + len(lists)), *strips, lists,
        struct.pack(order + "H", len(tags)), lines, bytes(4),
    ))  # fmt: skip


def saved(image, kind="PNG", **how):
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def code_of(call, *arguments, **named):
    with pytest.raises(PictureFault) as caught:
        call(*arguments, **named)
    assert caught.value.message
    return caught.value.code


MASK = np.array([[0, 0, 255, 255], [0, 255, 0, 255], [255, 0, 0, 0]], np.uint8)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
@pytest.mark.parametrize("how", [{}, {"optimize": True}])
def test_black_and_white_counts_in_every_mode(mode, how):
    data = saved(Image.fromarray(MASK).convert(mode), **how)
    found = read_mask(data, binarize=None)
    assert found.warning == ()
    assert found.pixels.dtype == np.bool_
    np.testing.assert_array_equal(found.pixels, MASK == 255)
    assert picture_size(data) == (3, 4) == picture_size(data[:33])


def test_the_colour_of_a_palette_counts_and_not_its_index():
    palette = [255] * 3 * 200 + [0] * 3
    indices = np.array([[200, 0, 3]], np.uint8)
    found = read_mask(png(indices, colour=3, before=[chunk(b"PLTE", bytes(palette))]))
    assert found.pixels.tolist() == [[False, True, True]]


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("interlaced", [False, True])
def test_every_depth_of_gray_is_a_mask(depth, interlaced):
    samples = np.random.default_rng(depth).integers(0, 2, (13, 11)) * (2**depth - 1)
    found = read_mask(png(samples, depth, interlaced=interlaced, pieces=3))
    np.testing.assert_array_equal(found.pixels, samples > 0)


@pytest.mark.parametrize(
    ("values", "listed", "advice"),
    [
        ([0, 64, 192, 255], "64, 192", "Threshold"),
        ([0, 38], "38", "255 where the emoji is"),
        (range(20), "1, 2, 3, 4, 5, 6, 7, 8, …", "Threshold"),
        ([0, 1], "0 and 1", "Multiply the mask by 255"),
        ([1, 1], "0 and 1", "Multiply the mask by 255"),
    ],
)
def test_other_values_are_listed_with_advice(values, listed, advice):
    with pytest.raises(PictureFault, match="mask-not-binary") as caught:
        read_mask(png([list(values)]), binarize=None)
    assert listed in caught.value.message
    assert advice in caught.value.advice


def test_binarize_takes_soft_edges_with_a_warning():
    found = read_mask(png([[0, 127, 128, 255]]), binarize=128)
    assert found.pixels.tolist() == [[False, False, True, True]]
    assert found.warning[0] == "mask-not-binary"
    assert "127, 128" in found.warning[1]
    assert read_mask(png([[0, 255]]), binarize=128).warning == ()


@pytest.mark.parametrize("values", [[0, 1], [1, 1]])
def test_zero_and_one_stay_an_error_with_binarize(values):
    assert code_of(read_mask, png([values]), binarize=128) == "mask-not-binary"


def test_colours_are_named():
    voc = png([[0, 1]], colour=3, before=[chunk(b"PLTE", bytes([0, 0, 0, 128, 0, 0]))])
    rgb = png(np.array([[[0, 0, 0], [128, 0, 0]]]), colour=2)
    for data in (voc, rgb):
        with pytest.raises(PictureFault, match=r"mask-not-binary: .*\(128, 0, 0\)"):
            read_mask(data)
        assert read_mask(data, binarize=38).pixels.tolist() == [[False, True]]


def test_a_palette_colour_that_no_pixel_uses_is_no_fault():
    data = png([[0, 1]], colour=3, before=[chunk(b"PLTE", bytes([0] * 3 + [255] * 3 + [128, 0, 0]))])
    assert read_mask(data).pixels.tolist() == [[False, True]]


@pytest.mark.parametrize("colour", [0, 2, 4, 6])
def test_sixteen_bits_are_no_mask(colour):
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    assert code_of(read_mask, png(np.full((2, 2, channels), 65535), 16, colour)) == "bad-image-mode"


@pytest.mark.parametrize(
    "data",
    [
        png(np.array([[[255, 255], [0, 254]]]), colour=4),
        png(np.array([[[255, 255, 255, 0]]]), colour=6),
        png([[0, 255]], before=[chunk(b"tRNS", b"\0\0")]),
        png([[0, 1]], 1, before=[chunk(b"tRNS", b"\0\1")]),
        png(np.array([[[255, 255, 255]]]), colour=2, before=[chunk(b"tRNS", b"\0\xff" * 3)]),
        png([[0, 1]], colour=3, before=[chunk(b"PLTE", bytes(3) + b"\xff" * 3), chunk(b"tRNS", b"\0")]),
    ],
)
def test_transparency_is_refused(data):
    assert code_of(read_mask, data, binarize=128) == "bad-image-mode"


@pytest.mark.parametrize(
    "data",
    [
        png([[0, 255]], before=[chunk(b"tRNS", b"\0\7")]),
        png([[0, 1]], colour=3, before=[chunk(b"PLTE", bytes(3) + b"\xff" * 3), chunk(b"tRNS", b"\xff\xff")]),
    ],
)
def test_a_transparent_value_that_no_pixel_has_is_no_fault(data):
    assert read_mask(data).pixels.tolist() == [[False, True]]


def test_an_animation_is_refused():
    frames = [Image.fromarray(MASK), Image.fromarray(255 - MASK)]
    data = saved(frames[0], save_all=True, append_images=frames[1:])
    assert code_of(read_mask, data) == "bad-image-mode"


def test_exif_rotation_is_not_applied():
    exif = Image.Exif()
    exif[0x0112] = 6
    found = read_mask(saved(Image.fromarray(MASK), exif=exif))
    np.testing.assert_array_equal(found.pixels, MASK == 255)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (saved(Image.fromarray(MASK), "JPEG"), "JPEG"),
        (saved(Image.fromarray(MASK), "GIF"), "GIF"),
        (saved(Image.fromarray(MASK), "BMP"), "BMP"),
        (saved(Image.fromarray(MASK), "TIFF"), "TIFF"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "WebP"),
        (b"\n<!DOCTYPE html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        (png(MASK).replace(b"\r\n", b"\n", 1), "as if it were text"),
        (b"SampleID,Mask", "not a PNG"),
    ],
)
def test_what_is_no_png_is_called_by_its_name(data, kind):
    with pytest.raises(PictureFault, match="not-png") as caught:
        read_mask(data)
    assert kind in caught.value.message


@pytest.mark.parametrize("reader", [read_mask, read_label_map])
def test_a_cut_png_is_no_png_wherever_it_is_cut(reader):
    data = png(MASK, pieces=2)
    assert {code_of(reader, data[:end]) for end in range(len(data))} == {"not-png"}


@pytest.mark.parametrize(
    "data",
    [
        png(MASK).replace(b"IDAT", b"IDAX"),
        png(MASK, before=[chunk(b"ABCD")]),
        png([[1]], colour=3),
        png([[1]], colour=3, before=[chunk(b"PLTE", bytes(3))]),
        png(MASK, depth=3),
        png(MASK[:, :0]),
        png(MASK)[:33] + chunk(b"IDAT", zlib.compress(b"\0\1")) + chunk(b"IEND"),
        png(MASK)[:33] + chunk(b"IDAT", b"no deflate") + chunk(b"IEND"),
        png(MASK)[:33] + chunk(b"IDAT", zlib.compress(b"\x09" * 20)) + chunk(b"IEND"),
    ],
)
def test_a_damaged_png_is_no_png(data):
    assert code_of(read_mask, data) == "not-png"


def test_a_header_that_promises_too_much_is_refused_before_decoding():
    small = png(np.zeros((1, 1)))
    header = chunk(b"IHDR", struct.pack(">2L5B", 60_000, 60_000, 8, 0, 0, 0, 0))
    huge = small[:8] + header + small[33:]
    assert picture_size(huge) == (60_000, 60_000)
    assert code_of(read_mask, huge) == "too-large-unpacked"
    assert code_of(read_label_map, huge) == "too-large-unpacked"
    assert code_of(read_mask, huge, max_pixels=1 << 40) == "not-png"


def test_pillows_bound_does_not_matter(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2)
    labels = np.arange(12, dtype=np.uint16).reshape(3, 4)
    assert read_mask(png(MASK)).pixels.shape == (3, 4)
    np.testing.assert_array_equal(read_label_map(tiff(labels)), labels)
    np.testing.assert_array_equal(read_label_map(saved(Image.fromarray(labels), "TIFF")), labels)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_label_maps_keep_every_bit_of_a_png(data):
    depth = data.draw(st.sampled_from([1, 2, 4, 8, 16]))
    colour = data.draw(st.sampled_from([0, 3] if depth < 16 else [0]))
    height, width = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    seed = data.draw(st.integers(0, 2**32 - 1))
    samples = np.random.default_rng(seed).integers(0, 2**depth, (height, width))
    before = [chunk(b"PLTE", bytes(range(12)))] if colour == 3 else []
    found = read_label_map(png(samples, depth, colour, interlaced=data.draw(st.booleans()), before=before))
    assert found.dtype == (np.uint16 if depth == 16 else np.uint8)
    np.testing.assert_array_equal(found, samples)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_label_maps_keep_every_bit_of_a_tiff(data):
    bits = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    dtype = np.dtype(f"u{max(bits // 8, 1)}")
    height, width = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    seed = data.draw(st.integers(0, 2**32 - 1))
    samples = np.random.default_rng(seed).integers(0, min(2**bits, 2**31), (height, width)).astype(dtype)
    found = read_label_map(
        tiff(
            samples,
            bits=bits,
            order=data.draw(st.sampled_from("<>")),
            packing=data.draw(st.sampled_from([1, 8])),
            photometric=data.draw(st.sampled_from([0, 1, 3])),
            strip_rows=data.draw(st.none() | st.integers(1, height)),
            extra={274: [data.draw(st.integers(1, 8))]}.items(),
        )
    )
    assert found.dtype == {16: np.uint16, 32: np.int32}.get(bits, np.uint8)
    np.testing.assert_array_equal(found, samples)


@pytest.mark.parametrize("packing", ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
def test_pillows_own_tiffs_come_back(packing, dtype):
    labels = np.random.default_rng(1).integers(0, 200, (70, 50)).astype(dtype)
    labels[0, 0] = min(np.iinfo(dtype).max, 70_000)
    data = saved(Image.fromarray(labels), "TIFF", compression=packing)
    assert picture_size(data) == (70, 50)
    np.testing.assert_array_equal(read_label_map(data), labels)


def test_a_tiled_tiff_comes_back():
    labels = np.arange(32 * 48, dtype=np.uint16).reshape(32, 48)
    tiles = [labels[y : y + 16, x : x + 16] for y in (0, 16) for x in (0, 16, 32)]
    extra = {322: [16], 323: [16], 324: [8 + 512 * n for n in range(6)], 325: [512] * 6, 257: [32], 256: [48]}
    np.testing.assert_array_equal(read_label_map(tiff(np.vstack(tiles), extra=extra.items())), labels)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "F", "CMYK"])
def test_label_maps_of_other_modes_are_refused(mode):
    data = saved(Image.fromarray(MASK).convert(mode), "TIFF")
    assert code_of(read_label_map, data) == "bad-image-mode"


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA"])
def test_label_maps_in_colour_are_refused(mode):
    assert code_of(read_label_map, saved(Image.fromarray(MASK).convert(mode))) == "bad-image-mode"


@pytest.mark.parametrize("labels", [np.array([[-1]], np.int16), np.array([[2**31]], np.uint32)])
def test_labels_that_int32_or_their_sign_cannot_hold_are_refused(labels):
    kind = 2 if labels.dtype.kind == "i" else 1
    assert code_of(read_label_map, tiff(labels, kind=kind)) == "bad-image-mode"


def test_several_pages_are_refused():
    pages = [Image.fromarray(MASK), Image.fromarray(MASK)]
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    assert code_of(read_label_map, data) == "bad-image-mode"


def test_a_cut_tiff_is_damaged_wherever_it_is_cut():
    data = tiff(np.arange(12, dtype=np.uint16).reshape(3, 4), strip_rows=1)
    assert {code_of(read_label_map, data[:end]) for end in range(len(data))} == {"not-png"}


def test_a_tag_that_stands_twice_or_has_millions_of_values_is_damaged():
    data = tiff(MASK)
    line = struct.pack("<HHL", 278, 4, 1)
    assert data.count(line) == 1
    assert code_of(read_label_map, data.replace(line, struct.pack("<HHL", 277, 4, 1))) == "not-png"
    many = data.replace(struct.pack("<HHLL", 278, 4, 1, 3), struct.pack("<HHLL", 278, 1, 3_000_000, 8))
    assert code_of(read_label_map, many + bytes(3_000_000)) == "not-png"


VALID = [
    png(MASK),
    png(MASK, interlaced=True, pieces=3),
    png(MASK // 255, 1),
    png(MASK // 255, 4, 3, before=[chunk(b"PLTE", bytes(3) + b"\xff" * 3), chunk(b"tRNS", b"\xff")]),
    png(np.dstack([MASK] * 4) | np.array([0, 0, 0, 255]), colour=6),
    png(MASK.astype(np.uint16) * 257, 16),
    saved(Image.fromarray(MASK), "TIFF"),
    saved(Image.fromarray(MASK).convert("P"), "TIFF", compression="tiff_lzw"),
    tiff(MASK.astype(np.uint16), order=">", strip_rows=1),
    tiff(MASK.astype(np.uint32), packing=8),
]


def mend(data):
    """The same bytes with every checksum right again, so that damage gets past the first guard."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return data
    found, at = data[:8], 8
    while at + 12 <= len(data):
        length = min(int.from_bytes(data[at : at + 4], "big"), len(data) - at - 12)
        found += chunk(data[at + 4 : at + 8], data[at + 8 : at + 8 + length])
        at += 12 + length
    return found


@st.composite
def damaged(draw):
    data = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        if not data:
            break
        how = draw(st.sampled_from(["flip", "cut", "double", "put"]))
        if how == "flip":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "put":
            data[at] = draw(st.integers(0, 255))
        elif how == "double":
            end = at + draw(st.integers(1, 20))
            data[at:at] = data[at:end]
        elif draw(st.booleans()):
            del data[at : at + draw(st.integers(1, 20))]
        else:
            del data[at + 1 :]
    return mend(bytes(data)) if draw(st.booleans()) else bytes(data)


CODES = {"not-png", "bad-image-mode", "mask-not-binary", "too-large-unpacked"}


@given(damaged())
@settings(max_examples=600, deadline=None)
def test_damaged_bytes_give_a_picture_or_a_fault(data):
    for reader in (read_mask, read_label_map):
        for named in ({}, {"binarize": 128}) if reader is read_mask else ({},):
            try:
                found = reader(data, max_pixels=1 << 20, **named)
            except PictureFault as fault:
                assert fault.code in CODES  # noqa: PT017
            else:
                assert (found.pixels if reader is read_mask else found).shape == picture_size(data)
