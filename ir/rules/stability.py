"""Expressions that overflow, or lose their digits, where their value does not: each becomes the op made for it.

All are inexact: they round less often, and give the true value where a step of the left side overflows.
"""

from ..op import FLOAT
from ..ops.elementwise import abs, sqrt
from ..ops.transcendental import exp, expm1, log, log1p, logaddexp, logistic, softplus, tanh
from ..pattern import holes
from ..rewrite import RuleSet

STABILITY = RuleSet("stability")
rule = STABILITY.rule
f, g = holes("f g", FLOAT)

# fmt: off
# -- logarithms and exponentials -------------------------------------------------------------------

rule(log(exp(f)),                 f + 0.0, exact=False)
rule(log1p(expm1(f)),             f, exact=False)
rule(log1p(exp(f)),               softplus(f), exact=False)      # exp overflows at 710, at 89 in f32; softplus does not
rule(log(1.0 + exp(f)),           softplus(f), exact=False)
rule(log(1.0 + f),                log1p(f + 0.0), exact=False, grows=True)    # 1 + f keeps nothing of f < 1e-16
rule(log(1.0 - f),                log1p(0.0 - f), exact=False, grows=True)
rule(exp(f) - 1.0,                expm1(f + 0.0), exact=False, grows=True)
rule(exp(f) + -1.0,               expm1(f + 0.0), exact=False, grows=True)
rule(log(exp(f) + exp(g)),        logaddexp(f, g), exact=False)
# the logarithm of a softmax, -inf below -745
rule(log(exp(f) / g),             0.0 - log(g) + f, exact=False, grows=True)
rule(log(g * exp(f)),             f + log(g), exact=False)

# -- the logistic function -------------------------------------------------------------------------

rule(1.0 / (1.0 + exp(-f)),       logistic(f), exact=False)
rule(1.0 / (1.0 + exp(f)),        logistic(-f), exact=False)
rule(g / (1.0 + exp(-f)),         g * logistic(f), exact=False)
rule(g / (1.0 + exp(f)),          g * logistic(-f), exact=False)
rule(exp(f) / (1.0 + exp(f)),     logistic(f), exact=False)      # inf / inf from 710 on
rule(g / (1.0 + exp(f)) * exp(f), g * logistic(f), exact=False)
rule(logistic(-f) * exp(f),       logistic(f), exact=False)
rule(g * logistic(-f) * exp(f),   g * logistic(f), exact=False)
rule(1.0 - logistic(f),           logistic(-f), exact=False)
rule(log(logistic(f)),            0.0 - softplus(-f), exact=False, grows=True)    # -inf below -745

# -- others ----------------------------------------------------------------------------------------

rule((exp(f) - exp(-f)) / (exp(f) + exp(-f)),  tanh(f + 0.0), exact=False)
rule(sqrt(f * f),                 abs(f), exact=False)
# fmt: on
