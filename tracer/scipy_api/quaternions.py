"""The mathematics of rotations as unit quaternions (x, y, z, w), on traced arrays: the last axis is the quaternion's.

Where a formula has a removable singularity at the identity, a series in the square of the angle stands there, which
has all its derivatives; the other side computes on a number of its own there, so that neither gives NaN to the other.

Sources: Shuster, A Survey of Attitude Representations (1993); Markley et al., Averaging Quaternions (2007); Bernardes &
Viollet, Quaternion to Euler angles conversion (2022); Grassia, Practical Parameterization of Rotations Using the
Exponential Map (1998).
"""

import numpy as np

from ..numpy_api.linalg import demand_finite
from ..values.array import fresh
from .row_solutions import beside_axis, beside_polar_rotation, polar_rotation, principal_axis, solved_by_rows

where = np.where
SMALL = 1e-3  # radians, up to which a series in the angle is exact to the last place
LOCKED = 1e-7  # radians from 0 or pi, at which the two outer Euler angles cannot be told apart
DEGREE, RADIAN = np.pi / 180.0, 180.0 / np.pi


def components(x):
    """The components along the last axis."""
    return [x[..., i] for i in range(x.shape[-1])]


def stacked(*xs):
    return np.stack(np.broadcast_arrays(*xs), axis=-1)


def square_length(x):
    """The sum of squares along the last axis, which stays."""
    first, *others = (c * c for c in components(x))
    for c in others:
        first = first + c
    return first[..., None]


def flat_root(x):
    """The square root, whose slope at 0 is 0."""
    zero = x == 0
    return where(zero, 0.0, np.sqrt(where(zero, 1.0, x)))


def conjugated(q):
    x, y, z, w = components(q)
    return stacked(-x, -y, -z, w)


def composed(p, q):
    """Hamilton's product: the rotation q, and then p."""
    a, b, c, d = components(p)
    x, y, z, w = components(q)
    return stacked(
        d * x + w * a + (b * z - c * y),
        d * y + w * b + (c * x - a * z),
        d * z + w * c + (a * y - b * x),
        d * w - a * x - b * y - c * z,
    )


def from_vector(v):
    """The exponential map of half a rotation vector."""
    square = square_length(v)
    small = square <= SMALL * SMALL
    near = where(small, square, 0.0)
    angle = np.sqrt(where(small, 1.0, square))
    scale = where(small, 0.5 - near / 48 + near * near / 3840, np.sin(angle / 2) / angle)
    real = where(small, 1 - near / 8 + near * near / 384, np.cos(angle / 2))
    return np.concatenate([v * scale, real], axis=-1)


def canonical(q):
    """Of a quaternion and its negative, which are one rotation, that whose last component other than 0 among (z, y, x,
    w) is positive, w before x before y before z."""
    x, y, z, w = components(q)
    negative = (w < 0) | ((w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))))
    return where(negative[..., None], -q, q)


def to_vector(q):
    """Twice the logarithm, of the shorter way round."""
    q = canonical(q)
    v, w = q[..., :3], q[..., 3:]
    square = square_length(v)
    small = square <= (SMALL / 2) ** 2 * w * w
    ratio = where(small, square, 0.0) / where(small, w * w, 1.0)  # of the tangent of half the angle
    near = 2 * (1 - ratio / 3 + ratio * ratio / 5) * np.sqrt(1 + ratio)
    half = np.arctan2(np.sqrt(where(small, 1.0, square)), w)
    return where(small, near, 2 * half / np.sin(where(small, 1.0, half))) * v


def angle_of(q):
    return 2 * np.arctan2(flat_root(square_length(q[..., :3]))[..., 0], np.abs(q[..., 3]))


def times_over(q, n):
    """The rotation n times over; n times the angle of the shorter way round.

    Of n = 1 and n = -1 it is the quaternion itself and its conjugate, not their negatives.
    """
    made = from_vector(n * to_vector(q))
    x, y, z, w = components(made)
    a, b, c, d = components(q)
    turned = (n == 1) & (a * x + b * y + c * z + d * w < 0) | (n == -1) & (d * w - a * x - b * y - c * z < 0)
    return where(turned[..., None], -made, made)


def to_matrix(q):
    x, y, z, w = components(q)
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    xy, zw, xz, yw, yz, xw = x * y, z * w, x * z, y * w, y * z, x * w
    rows = [
        [xx - yy - zz + ww, 2 * (xy - zw), 2 * (xz + yw)],
        [2 * (xy + zw), -xx + yy - zz + ww, 2 * (yz - xw)],
        [2 * (xz - yw), 2 * (yz + xw), -xx - yy + zz + ww],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def turned_vectors(q, v, inverse):
    """The vectors v, turned; forwards or back."""
    m = to_matrix(q)
    x, y, z = (c[..., None] for c in components(v))
    columns = [m[..., i, :] if inverse else m[..., i] for i in range(3)]
    return columns[0] * x + columns[1] * y + columns[2] * z


def from_orthogonal(m):
    """Of a matrix: the largest of its diagonal and its trace says by which of four equal formulas, so that nothing
    cancels (Shepperd's method)."""
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    largest = np.argmax(np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1), axis=-1)[..., None]
    real = stacked(m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1 + trace)
    found = real
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        placed = {
            i: 1 - trace + 2 * m[..., i, i],
            j: m[..., j, i] + m[..., i, j],
            k: m[..., k, i] + m[..., i, k],
            3: m[..., k, j] - m[..., j, k],
        }
        found = where(largest == i, stacked(*(placed[n] for n in range(4))), found)
    return found / np.sqrt(square_length(found))


def from_parameters(p):
    """Of modified Rodrigues parameters."""
    square = square_length(p)
    return np.concatenate([2 * p, 1 - square], axis=-1) / (1 + square)


def to_parameters(q):
    w = q[..., 3:]
    sign = where(w < 0, -1.0, 1.0)
    return sign * q[..., :3] / (1.0 + sign * w)


def about(axis, angle):
    """The rotation about a coordinate axis."""
    zero, half = angle * 0.0, angle / 2
    return stacked(*(np.sin(half) if i == axis else zero for i in range(3)), np.cos(half))


def in_turn(rotations, intrinsic):
    """Rotations one after another, each about axes that turn along, or that stay."""
    whole, *others = rotations
    for q in others:
        whole = composed(whole, q) if intrinsic else composed(q, whole)
    return whole


def to_angles(q, axes, intrinsic):
    """-> (Euler angles about three axes, whether the outer two cannot be told apart).

    By the half sum and half difference of the outer angles, which are the angles of two complex numbers; where one of
    these vanishes, the third angle is 0.
    """
    i, j, k = axes[::-1] if intrinsic else axes
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    c = components(q)
    if symmetric:
        a, b, c, d = c[3], c[i], c[j], c[k] * sign
    else:
        a, b, c, d = c[3] - c[j], c[i] + c[k] * sign, c[j] + c[3], c[k] * sign - c[i]
    low, high = flat_root(a * a + b * b), flat_root(c * c + d * d)
    middle = 2 * np.arctan2(high, low)
    at_zero, at_pi = np.abs(middle) <= LOCKED, np.abs(middle - np.pi) <= LOCKED
    locked = at_zero | at_pi
    total, apart = np.arctan2(b, where(at_pi, 1.0, a)), np.arctan2(d, where(at_zero, 1.0, c))
    total, apart = where(at_pi, 0.0, total), where(at_zero, 0.0, apart)
    alone = where(at_zero, 2 * total, (2 if intrinsic else -2) * apart)
    first, third = total - apart, total + apart
    first, third = (third, first) if intrinsic else (first, third)
    first, third = where(locked, alone, first), where(locked, 0.0, third)
    if not symmetric:
        first, third = (first * sign, third) if intrinsic else (first, third * sign)
        middle = middle - np.pi / 2
    return stacked(first, middle, third), locked


def within_half_turn(angles):
    """Angles between -2 pi and 2 pi, from -pi to pi."""
    return where(angles < -np.pi, angles + 2 * np.pi, where(angles > np.pi, angles - 2 * np.pi, angles))


def average(q, weights, axes):
    """The quaternion that is the axis of most inertia of weighted ones, by axes of the stack (Markley et al.)."""
    outer = q[..., :, None] * q[..., None, :]
    outer = outer if weights is None else outer * weights[..., None, None]
    outer = outer.sum(axes) if axes else outer
    found = solved_by_rows(principal_axis, beside_axis, outer.reshape(-1, 4, 4).value)
    demand_finite(found, "Eigenvalues did not converge")
    return fresh(found).reshape(outer.shape[:-1])


def nearest(m):
    """The rotation next to a matrix."""
    found = solved_by_rows(polar_rotation, beside_polar_rotation, m.reshape(-1, 3, 3).value)
    demand_finite(found, "SVD did not converge")
    return fresh(found).reshape(m.shape)
