"""A crew on other machines: the workers of a Dask cluster."""
