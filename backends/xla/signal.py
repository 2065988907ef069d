"""XLA lowering of convolution and the discrete Fourier transform."""

from jax import lax

from ...ir.ops.signal import conv_general, fft
from .table import XLA


def conv(x, w, *, strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, groups, batch_groups):
    return lax.conv_general_dilated(
        x, w, strides, padding, lhs_dilation, rhs_dilation, lax.ConvDimensionNumbers(*dimension_numbers),
        feature_group_count=groups, batch_group_count=batch_groups, precision=lax.Precision.HIGHEST,
    )  # fmt: skip


# fmt: off
XLA.add({
    conv_general:  conv,
    fft:           lambda x, *, kind, lengths: lax.fft(x, kind, lengths),
})
