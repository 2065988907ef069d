"""The gradient of digits.loss as one writes it without a compiler: a second program, to be kept true to the first."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from . import digits


def value_and_gradient(params, images, labels):
    """(digits.loss, its gradient with respect to params), by back-propagation in plain NumPy."""
    n = len(images)
    images = images[..., np.newaxis]
    hidden1 = np.tanh(digits.convolve(images, params["kernel1"]) + params["bias1"])
    hidden2 = np.tanh(digits.convolve(hidden1, params["kernel2"]) + params["bias2"])
    flat = digits.pool(hidden2).reshape(n, -1)
    scores = flat @ params["weight"] + params["bias"]
    scores -= scores.max(axis=1, keepdims=True)
    powers = np.exp(scores)
    totals = powers.sum(axis=1, keepdims=True)
    picked = np.arange(n), labels
    value = np.mean(np.log(totals[:, 0]) - scores[picked])

    d_scores = powers / totals  # softmax minus one at the label, over n
    d_scores[picked] -= 1
    d_scores /= n
    d_sums2 = unpool(d_scores @ params["weight"].T, hidden2.shape) * (1 - hidden2**2)
    d_sums1 = spread(d_sums2, params["kernel2"], hidden1.shape) * (1 - hidden1**2)
    return value, {
        "kernel1": kernel_gradient(images, d_sums1),
        "bias1": d_sums1.sum(axis=(0, 1, 2)),
        "kernel2": kernel_gradient(hidden1, d_sums2),
        "bias2": d_sums2.sum(axis=(0, 1, 2)),
        "weight": flat.T @ d_scores,
        "bias": d_scores.sum(axis=0),
    }


def unpool(d_flat, shape):
    """The cotangent of pool's operand: a quarter of each mean's cotangent to its four pixels."""
    n, height, width, channels = shape
    d_means = d_flat.reshape(n, height // 2, 1, width // 2, 1, channels) / 4
    return np.broadcast_to(d_means, (n, height // 2, 2, width // 2, 2, channels)).reshape(shape)


def spread(d_sums, kernel, shape):
    """The cotangent of convolve's images: every sum's cotangent back to the nine pixels it came from."""
    d_images = np.zeros(shape)
    height, width = d_sums.shape[1:3]
    for y in range(3):
        for x in range(3):
            d_images[:, y : y + height, x : x + width] += d_sums @ kernel[:, y, x].T
    return d_images


def kernel_gradient(images, d_sums):
    """The cotangent of convolve's kernel: every pixel of every window times the cotangent of its sum."""
    windows = sliding_window_view(images, (3, 3), axis=(1, 2))
    return np.tensordot(windows, d_sums, axes=([0, 1, 2], [0, 1, 2]))
