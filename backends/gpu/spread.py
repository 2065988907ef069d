def spread_trips(region, eqn, body, bound, start, step):
    return None
