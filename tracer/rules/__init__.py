"""The user's rewrite rules: stated as two functions, captured at the types they meet, and checked against each other.

Promises that a rule whose sides disagree is refused with the values that show it.
May import: capture and all below.
"""
