"""Statistical checks of a sampler against an exact law, with stated error rates and proved power."""
