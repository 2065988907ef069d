"""A convolutional network that reads handwritten digits, in plain NumPy: nothing here knows Wengert.

Two layers of 3 by 3 convolutions under tanh, a mean over 2 by 2 pixels, one linear layer; 6,090 parameters.
The loss is the softmax cross-entropy, the optimiser gradient descent with momentum.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

DATA = __file__.rpartition(".")[0] + ".npz"  # see DATA.md for source and licence
TEST = 360


def load(seed=0):
    """(images, labels) for training, then for testing: float64[n,8,8] in 0..1 and int64[n]."""
    with np.load(DATA) as data:
        images, labels = data["images"] / 16.0, data["labels"].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(images))
    test, train = order[:TEST], order[TEST:]
    return (images[train], labels[train]), (images[test], labels[test])


def init(rng, first=16, second=32):
    """Parameters with variance one over the number of inputs; biases start at zero."""
    return {
        "kernel1": rng.normal(size=(1, 3, 3, first)) / 3,
        "bias1": np.zeros(first),
        "kernel2": rng.normal(size=(first, 3, 3, second)) / np.sqrt(9 * first),
        "bias2": np.zeros(second),
        "weight": rng.normal(size=(4 * second, 10)) / np.sqrt(4 * second),
        "bias": np.zeros(10),
    }


def convolve(images, kernel):
    """Images [n, height, width, channels] under a kernel [channels, 3, 3, features]."""
    windows = sliding_window_view(images, (3, 3), axis=(1, 2))  # [n, height - 2, width - 2, channels, 3, 3]
    return np.tensordot(windows, kernel, axes=3)


def pool(images):
    """The mean of every 2 by 2 pixels."""
    n, height, width, channels = images.shape
    return images.reshape(n, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))


def logits(params, images):
    """One score a digit, [n, 10]."""
    hidden = np.tanh(convolve(images[..., np.newaxis], params["kernel1"]) + params["bias1"])
    hidden = np.tanh(convolve(hidden, params["kernel2"]) + params["bias2"])
    return pool(hidden).reshape(len(images), -1) @ params["weight"] + params["bias"]


def loss(params, images, labels):
    """The mean of -log softmax(logits)[label]."""
    scores = logits(params, images)
    scores = scores - scores.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(scores).sum(axis=1))
    return np.mean(log_total - scores[np.arange(len(labels)), labels])


def accuracy(params, images, labels):
    """The fraction of images whose highest score is their label's."""
    return np.mean(logits(params, images).argmax(axis=1) == labels)


def step(params, velocity, slopes, rate, momentum=0.9):
    """One step of gradient descent with momentum -> (params, velocity)."""
    velocity = {name: momentum * velocity[name] + slopes[name] for name in params}
    return {name: params[name] - rate * velocity[name] for name in params}, velocity


def batches(rng, images, labels, size):
    """One epoch: the training set in random order, cut into batches of `size`; a shorter rest is left out."""
    order = rng.permutation(len(images))
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start : start + size]
        yield images[chosen], labels[chosen]
