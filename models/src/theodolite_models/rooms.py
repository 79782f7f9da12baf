"""Rendered rooms: one object in a room of 64 x 64 pixels, from six independent numbers.

Pixels are cast from a camera into a room with a floor and four walls; the object is a box, a
sphere or a cylinder on the floor. This is an own renderer, not the data set 3dshapes.
"""

import colorsys

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from theodolite.evidence.axes import Classes, Concepts
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData

SIDE = 64
SIZES = (10, 10, 10, 8, 3, 15)
"""Numbers of floor hues, wall hues, object hues, scales, shapes and view angles."""
BELOW = (5, 5, 5, 4, 2, 7)
CONCEPTS = (
    "floor red to green", "wall red to green", "object red to green", "small object", "flat top",
    "seen from the left",
)  # fmt: skip
"""A concept is present if its number is below the one in BELOW."""
ROOM, HEIGHT, CAMERA, TILT, ZOOM = 3.0, 4.0, 7.0, 0.45, 1.5
LIGHT = np.array([0.4, 0.8, 0.45]) / np.linalg.norm([0.4, 0.8, 0.45])
FAR = 1e9

Vectors = Float[np.ndarray, "pixels 3"]
Numbers = Float[np.ndarray, " pixels"]


def rooms(n: int = 20_000, *, seed: int = 0) -> BottleneckData:
    """Draw rooms with their concepts; the label has eight classes, of three concepts each.

    Args:
        n: Number of images; 70 % are for training and 10 % for validation.
        seed: Seed of the numbers that are drawn.
    """
    latents = np.random.default_rng(seed).integers(SIZES, size=(n, len(SIZES)))
    truth = latents < BELOW
    c = truth.astype(np.int64)
    flat = c[:, 4]
    labels = (1 - flat) * (2 * c[:, 0] + c[:, 1] + 4) + flat * (2 * c[:, 2] + c[:, 3])
    ends = [round(0.7 * n), round(0.8 * n)]
    train, validation, test = np.split(np.arange(n), ends)
    return BottleneckData(
        name="rendered rooms",
        inputs=np.stack([render(row) for row in latents]),
        truth=truth,
        labels=labels,
        train=train,
        validation=validation,
        test=test,
        concepts=Concepts(CONCEPTS),
        classes=Classes.numbered(8),
        notes=("Rendered by theodolite-models: an own room, not the data set 3dshapes.",),
    )


def render(latent: Int[np.ndarray, "6"]) -> UInt8[np.ndarray, "64 64 3"]:
    """Draw one room from floor hue, wall hue, object hue, scale, shape and view angle.

    >>> image = render(np.array([0, 5, 2, 7, 1, 7]))
    >>> image.shape, bool((image == render(np.array([0, 5, 2, 7, 1, 7]))).all())
    ((64, 64, 3), True)
    """
    shaded: np.ndarray
    floor, wall, thing = (_color(hue) for hue in latent[:3])
    size = 0.55 + 0.09 * latent[3]
    camera, rays = _camera(np.deg2rad(-30 + 60 * latent[5] / 14))
    distance, colors, normals = _room(camera, rays, floor, wall)
    hit, normal = (_box, _cylinder, _sphere)[latent[4]](camera, rays, size)
    before = hit < distance
    colors[before], normals[before] = thing, normal[before]
    shade = 0.55 + 0.45 * np.clip(normals @ LIGHT, 0, 1)
    shaded = np.round(255 * colors * shade[:, None]).astype(np.uint8)
    return shaded.reshape(SIDE, SIDE, 3)


def object_box(latent: Int[np.ndarray, "6"]) -> tuple[int, int, int, int]:
    """Return the rows and columns that the object covers: top, left, bottom, right."""
    size = 0.55 + 0.09 * latent[3]
    camera, rays = _camera(np.deg2rad(-30 + 60 * latent[5] / 14))
    hit, _ = (_box, _cylinder, _sphere)[latent[4]](camera, rays, size)
    rows, columns = np.nonzero((hit < FAR).reshape(SIDE, SIDE))
    return int(rows.min()), int(columns.min()), int(rows.max()) + 1, int(columns.max()) + 1


def _color(hue: int) -> Float[np.ndarray, "3"]:
    return np.array(colorsys.hsv_to_rgb(hue / 10, 0.75, 1.0))


def _camera(angle: float) -> tuple[Float[np.ndarray, "3"], Vectors]:
    """Return where the camera is, and the direction of each pixel."""
    place = CAMERA * np.array([
        np.sin(angle) * np.cos(TILT), np.sin(TILT), np.cos(angle) * np.cos(TILT)
    ])  # fmt: skip
    aim = np.array([0.0, 0.6, 0.0])
    forward = (aim - place) / np.linalg.norm(aim - place)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    grid = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
    x, y = np.meshgrid(grid, -grid)
    rays = ZOOM * forward + 0.8 * (x[..., None] * right + y[..., None] * up)
    return place, (rays / np.linalg.norm(rays, axis=-1, keepdims=True)).reshape(-1, 3)


def _room(
    camera: Float[np.ndarray, "3"], rays: Vectors, floor: np.ndarray, wall: np.ndarray
) -> tuple[Numbers, Vectors, Vectors]:
    """Return distance, color and normal where rays meet the floor, a wall or nothing (black)."""
    distance, colors = np.full(len(rays), FAR), np.zeros((len(rays), 3))
    normals = np.tile([0.0, 1.0, 0.0], (len(rays), 1))
    for axis, at, inward, color in ((1, 0.0, 1.0, floor), (0, -ROOM, 1.0, wall),
                                    (0, ROOM, -1.0, wall), (2, -ROOM, 1.0, wall)):  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (at - camera[axis]) / rays[:, axis]
            where = camera + t[:, None] * rays
            seen = (t > 0) & (t < distance) & (rays[:, axis] * inward < 0)
            seen &= (where[:, 1] > -1e-6) & (where[:, 1] < HEIGHT)
            seen &= (np.abs(where[:, 0]) < ROOM + 1e-6) & (where[:, 2] > -ROOM - 1e-6)
        distance[seen], colors[seen] = t[seen], color
        normals[seen] = np.eye(3)[axis] * inward
    return distance, colors, normals


def _sphere(camera: Float[np.ndarray, "3"], rays: Vectors, size: float) -> tuple[Numbers, Vectors]:
    center = np.array([0.0, size, 0.0])
    offset = camera - center
    half = rays @ offset
    root = half**2 - (offset @ offset - size**2)
    t = np.where(root > 0, -half - np.sqrt(np.maximum(root, 0)), FAR)
    return t, (camera + t[:, None] * rays - center) / size


def _box(camera: Float[np.ndarray, "3"], rays: Vectors, size: float) -> tuple[Numbers, Vectors]:
    half = 0.8 * size
    low, high = np.array([-half, 0.0, -half]), np.array([half, 2 * half, half])
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = np.sort(np.stack([(low - camera) / rays, (high - camera) / rays]), axis=0)
    entry, leaving = near.max(axis=1), far.min(axis=1)
    t = np.where((entry < leaving) & (entry > 0), entry, FAR)
    axis = near.argmax(axis=1)
    normals = -np.eye(3)[axis] * np.sign(rays[np.arange(len(rays)), axis])[:, None]
    return t, normals


def _cylinder(
    camera: Float[np.ndarray, "3"], rays: Vectors, size: float
) -> tuple[Numbers, Vectors]:
    radius, height = 0.8 * size, 1.6 * size
    flat_camera, flat = camera[[0, 2]], rays[:, [0, 2]]
    a, b = (flat**2).sum(axis=1), flat @ flat_camera
    root = b**2 - a * (flat_camera @ flat_camera - radius**2)
    side = np.where(root > 0, (-b - np.sqrt(np.maximum(root, 0))) / a, FAR)
    where = camera + side[:, None] * rays
    side = np.where(_between(where[:, 1], 0, height), side, FAR)
    top = (height - camera[1]) / rays[:, 1]
    on_top = camera + top[:, None] * rays
    top = np.where((top > 0) & ((on_top[:, [0, 2]] ** 2).sum(axis=1) < radius**2), top, FAR)
    normals = where * [1, 0, 1] / radius
    normals[top < side] = [0.0, 1.0, 0.0]
    return np.minimum(side, top), normals


def _between(values: Numbers, low: float, high: float) -> Bool[np.ndarray, " pixels"]:
    return np.asarray((values >= low) & (values <= high))
