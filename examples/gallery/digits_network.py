"""A small network reads digits.

1,437 images of handwritten digits of 8 by 8 pixels, a network with one hidden layer, stochastic gradient descent. The
network is ten lines of NumPy; one call of `value_and_grad` gives its loss and the gradient of all parameters, which
are a dict. The data lie in the package (`wengert.examples.digits`).
"""

import numpy as np

from wengert import jit, value_and_grad
from wengert.examples.digits import load


def scores(params, images):
    """One score a digit, f64[n,10]."""
    hidden = np.tanh(images @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params, images, labels):
    """The mean of -log softmax(scores)[label]."""
    z = scores(params, images)
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(labels)), labels])


@jit
def step(params, images, labels, rate):
    """One step down the gradient -> (params, loss before it)."""
    value, slopes = value_and_grad(loss)(params, images, labels)
    return {name: params[name] - rate * slopes[name] for name in params}, value


def main(hidden=32, epochs=25, size=32):
    (images, labels), (unseen, truth) = load()
    images, unseen = images.reshape(-1, 64), unseen.reshape(-1, 64)
    rng = np.random.default_rng(0)
    params = {
        "w1": rng.normal(size=(64, hidden)) / 8.0,
        "b1": np.zeros(hidden),
        "w2": rng.normal(size=(hidden, 10)) / np.sqrt(hidden),
        "b2": np.zeros(10),
    }
    losses = []
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            params, value = step(params, images[chosen], labels[chosen], 0.3)
            losses.append(value)
    answers = scores(params, unseen).argmax(axis=1)
    return {"losses": np.array(losses), "answers": answers, "truth": truth, "images": unseen.reshape(-1, 8, 8)}


def draw(figure, found):
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(found["losses"], linewidth=0.6)
    right_of = np.mean(found["answers"] == found["truth"])
    axes.set(xlabel="step", title=f"loss; of unseen images {right_of:.1%} are right")
    wrong = np.flatnonzero(found["answers"] != found["truth"])
    shown = np.concatenate([wrong, np.flatnonzero(found["answers"] == found["truth"])])[:16]
    for at, place in zip(shown, right.subplots(4, 4).flat, strict=True):
        place.imshow(found["images"][at], cmap="gray_r")
        place.set_axis_off()
        place.set_title(found["answers"][at], color="tab:red" if at in wrong else "black", fontsize=9, pad=2)


SMALL = {"hidden": 3, "epochs": 1, "size": 700}
