"""Many runs, fast: a compiled engine, a runner, tables of results."""
