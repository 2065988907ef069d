"""Three spheres: ray tracing.

For every pixel a ray is followed through three reflections, in plain loops and branches over numbers: which sphere does
it meet first, is that point in the shadow, and on. There is a floor of tiles and one lamp.
"""

import numpy as np

from wengert import jit

BALLS = np.array([[0.0, 1.0, 0.0, 1.0], [1.9, 0.6, -1.1, 0.6], [-1.8, 0.7, -0.9, 0.7]])  # centre and radius
COLOURS = np.array([[0.9, 0.3, 0.25], [0.25, 0.6, 0.9], [0.95, 0.8, 0.3]])


def nearest(origin, ray):
    """(distance, which): the first sphere that a ray meets, 3 for the floor, -1 for none."""
    distance, which = 1e9, -1
    if ray[1] < -1e-9:
        distance, which = -origin[1] / ray[1], 3
    for k in range(len(BALLS)):
        off = origin - BALLS[k, :3]
        half = off @ ray
        under = half * half - off @ off + BALLS[k, 3] ** 2
        if under > 0.0:
            t = -half - np.sqrt(under)
            if 1e-6 < t < distance:
                distance, which = t, k
    return distance, which


@jit
def render(height, width, lamp):
    """Colours f64[height,width,3] in 0..1."""
    image = np.zeros((height, width, 3))
    for row in range(height):
        for column in range(width):
            ray = np.array([(column - 0.5 * width) / height, 0.42 - row / height, 1.1])
            ray = ray / np.sqrt(ray @ ray)
            origin, share, colour = np.array([0.0, 1.7, -5.5]), 1.0, np.zeros(3)
            for _ in range(4):
                distance, which = nearest(origin, ray)
                if which < 0:
                    colour = colour + share * (0.35 + 0.5 * ray[1]) * np.array([0.6, 0.75, 1.0])
                    break
                point = origin + distance * ray
                if which == 3:
                    normal = np.array([0.0, 1.0, 0.0])
                    own = np.full(3, 0.75 if (np.floor(point[0]) + np.floor(point[2])) % 2 == 0 else 0.25)
                    shine = 0.15
                else:
                    normal = (point - BALLS[which, :3]) / BALLS[which, 3]
                    own, shine = COLOURS[which], 0.4
                origin = point + 1e-6 * normal
                to_lamp = lamp - origin
                to_lamp = to_lamp / np.sqrt(to_lamp @ to_lamp)
                light = 0.12
                if nearest(origin, to_lamp)[1] < 0:
                    light += 0.88 * max(normal @ to_lamp, 0.0)
                colour = colour + share * (1.0 - shine) * light * own
                share *= shine
                ray = ray - 2.0 * (ray @ normal) * normal
            image[row, column] = colour
    return image


def main(height=220, width=380):
    return {"image": render(height, width, np.array([-4.0, 6.0, -4.0]))}


def draw(figure, found):
    axes = figure.subplots()
    axes.imshow(np.clip(found["image"], 0.0, 1.0) ** 0.7)
    axes.set_axis_off()


SMALL = {"height": 5, "width": 7}
