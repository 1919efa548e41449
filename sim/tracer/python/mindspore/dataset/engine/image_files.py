"""Sizes of images, from the first bytes of their files; nothing is decoded."""
import os
import struct

_EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".tif", ".tiff", ".webp")
_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # JPEG: start of a frame
MAX_BYTES = 1 << 20


def classes_of(folder):
    """Names of the folders that hold the images of a class each, in order."""
    return sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))


def images_of(folder):
    """Paths of all images, by class."""
    return [os.path.join(folder, kind, name) for kind in classes_of(folder)
            for name in sorted(os.listdir(os.path.join(folder, kind))) if name.lower().endswith(_EXTENSIONS)]


def size_of(path):
    """(height, width) of an image, or None if its first bytes do not say it."""
    try:
        with open(path, "rb") as file:
            head = file.read(MAX_BYTES)
        if head[:8] == b"\x89PNG\r\n\x1a\n":
            width, height = struct.unpack(">II", head[16:24])
        elif head[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack("<HH", head[6:10])
        elif head[:2] == b"BM":
            width, height = struct.unpack("<ii", head[18:26])
        elif head[:2] == b"\xff\xd8":
            return _of_jpeg(head)
        else:
            return None
    except (OSError, struct.error):
        return None
    return abs(height), width


def _of_jpeg(head):
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, = struct.unpack(">B", head[at + 1:at + 2])
        if marker in _MARKERS:
            return struct.unpack(">HH", head[at + 5:at + 9])
        at += 2 + struct.unpack(">H", head[at + 2:at + 4])[0]
    return None
