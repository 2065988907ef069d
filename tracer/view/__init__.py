"""A program as a page to look at: source with its cost, the graph, the passes, the traces, a measured call.

Promises one file that needs nothing else, in which everything of the user's is text.
May import: plan and all below.
"""
