"""Programs as their authors wrote them: plain NumPy, which Wengert compiles and differentiates from outside."""
