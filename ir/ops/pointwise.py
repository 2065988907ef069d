"""Type rules of ops that compute element by element, with the cases on which such ops are tested."""

from ..op import Cost, case, elementwise
from .samples import EDGES


class pointwise(elementwise):
    """`elementwise`, tested on edges too: zeros of both signs, infinities, NaN, the ends of the integers."""

    @property
    def cases(self):
        return (
            *super().cases,
            *(
                case(draw, repeat=True)
                for kind, draw in EDGES.items()
                if len(self.kinds) == 1 and kind in self.kinds[0]
            ),
        )


class step(pointwise):
    """`pointwise`, of ops that are an instruction or a few."""

    cost = Cost.STEP


class exact(step):
    """`step`, of ops whose results are numbers of their dtype as they stand: nothing is rounded, overflows or is
    invalid, of real operands."""

    traits = (*step.traits, "exact")
