"""Arrays whose length along an axis is known only when the program runs: windows with traced ends, selections by masks."""
