import numpy as np

def cast(x, *, dtype):
    kept = x.real if dtype.kind in 'iuf' else x
    return np.asarray(kept).astype(dtype)

def program(r, x):
    x_1, total = x, np.float64(0.0)
    for i in np.arange(4):
        v6 = np.sum(x_1)
        v7 = 0.0 < v6
        if v7:
            y = x_1
            for i_1 in np.arange(i):
                v19 = y * r
                v20 = np.sin(v19)
                v21 = cast(i_1, dtype=np.dtype('float64'))
                v22 = np.broadcast_to(v21, (2,))
                y = v20 + v22
            v8 = y
        else:
            v8 = x_1 * r
        v25 = np.tanh(v8)
        v26 = v8 * x_1
        v27 = np.sum(v26)
        v28 = total + v27
        x_1, total = v25, v28
    return (x_1, total)
