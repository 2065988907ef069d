import numpy as np

def dynamic_update_slice(x, u, *starts):
    inside = [min(max(int(i), 0), n - k) for i, n, k in zip(starts, x.shape, u.shape)]
    out = np.array(x)
    out[tuple((slice(i, i + k) for i, k in zip(inside, u.shape)))] = u
    return out

def dynamic_slice(x, *starts, sizes):
    inside = [min(max(int(i), 0), n - k) for i, n, k in zip(starts, x.shape, sizes)]
    return x[tuple((slice(i, i + k) for i, k in zip(inside, sizes)))]

def d_program(a, v1):
    x = a
    trips = np.int64(0)
    saved_x = np.full((30,), 0.0, np.float64)
    i = np.int64(0)
    while True:
        v12 = x * x
        v13 = v12 - a
        v14 = v13 * v13
        v15 = v14 > 1e-26
        if not v15:
            break
        v16 = a / x
        v17 = x + v16
        v18 = v17 * 0.5
        v19 = i + 1
        v20 = np.reshape(x, (1,))
        v21 = dynamic_update_slice(saved_x, v20, i)
        x, trips, saved_x = v18, v19, v21
        i = i + 1
    d_a, d_x = np.float64(0.0), v1
    for i_1 in np.arange(trips):
        v31 = trips - 1
        v32 = v31 - i_1
        v33 = dynamic_slice(saved_x, v32, sizes=(1,))
        v34 = np.reshape(v33, ())
        v35 = a / v34
        v36 = d_x * 0.5
        v37 = 1.0 / v34
        v38 = np.where(v36 == 0, v36, v36 * v37)
        v39 = np.where(v38 == 0, v38, v38 * v35)
        v40 = -v39
        v41 = d_a + v38
        v42 = v36 + v40
        d_a, d_x = v41, v42
    v45 = d_a + d_x
    return (x, v45)
