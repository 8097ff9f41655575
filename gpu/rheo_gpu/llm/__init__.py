"""Language models for the torch decoder: targets, drafts, generation. Needs the extra `llm`.

errors.py     what is unusable, in one line
cache.py      keys and values of a batch, compacted to what was accepted
narrow.py     matrix products for few rows
target.py     a Hugging Face causal model as target
head.py       an EAGLE-3-style draft head; eagle.py drafts with it, unroll.py is what training needs of it
"""
