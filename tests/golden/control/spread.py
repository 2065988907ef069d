import numpy as np

def wave(x, y):
    v2 = np.sin(x)
    v3 = v2 * y
    v4 = np.exp(v3)
    return v4

def program(w, xs):
    v11 = []
    v12 = []
    for x in xs:
        x_1 = x
        for _ in np.arange(2):
            x_1 = wave(w, x_1)
        v9 = x_1 * x
        v10 = np.sum(v9)
        v11.append(x_1)
        v12.append(v10)
    v11 = np.stack(v11)
    v12 = np.stack(v12)
    return (v11, v12)
