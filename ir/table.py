"""Total tables: one rule per op, refused when written twice, listed when missing."""

from .op import OPS


class RuleTable:
    """op -> rule. `missing()` is empty once every declared op has its rule, which a test demands."""

    def __init__(self, name):
        self.name, self.rules = name, {}

    def add(self, rules):
        """Add `{op: rule, ...}`; a second rule for one op is an error."""
        for op, rule in rules.items():
            self[op] = rule

    def __setitem__(self, op, rule):
        if op in self.rules:
            raise KeyError(f"{self.name}: {op.name} already has a rule")
        self.rules[op] = rule

    def __getitem__(self, op):
        try:
            return self.rules[op]
        except KeyError:
            raise KeyError(f"no {self.name} rule for {op.name}; tables are total: add one line beside its family") from None

    def get(self, op):
        return self.rules.get(op)

    def rule(self, op):
        """Decorator form, for rules longer than a line."""

        def add(function):
            self[op] = function
            return function

        return add

    def missing(self):
        return [op for op in OPS.values() if op not in self.rules]
