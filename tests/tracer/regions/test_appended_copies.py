"""What a refusal of appended arrays says to write instead is captured."""

import numpy as np

from wengert import Fallback, jit
from wengert.tracer.call import patience

H = np.eye(2, 4)


def tracked(zs, copied):
    s, track = {"x": np.zeros(4)}, []
    for z in zs:
        s = {"x": s["x"] + np.linalg.solve(np.eye(2), z) @ H}
        track.append(s["x"].copy() if copied else s["x"])
    return np.array(track)


def test_a_copy_is_taken_where_what_others_see_is_not(recwarn, monkeypatch):
    monkeypatch.setattr(patience, "FIRST", patience.LONGEST)  # seconds that a trace may take on a busy machine
    zs = np.arange(400.0).reshape(200, 2)
    copied = jit(tracked, whole=True)(zs, True)
    np.testing.assert_allclose(copied, tracked(zs, True), rtol=1e-12)
    f = jit(tracked, whole=False)
    np.testing.assert_array_equal(f(zs, False), tracked(zs, False))
    said = [str(w.message) for w in recwarn if issubclass(w.category, Fallback)]
    assert "append x.copy()" in said[0]
