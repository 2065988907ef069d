"""What a program will do: its steps, the engine of each, what each costs by estimate and by measurement, and the text
of all it is turned into.

Promises that what is told is what runs, and the user's line for each step.
May import: blame, call and all below.
"""
