"""Language models for the torch decoder: targets, drafts, generation. Needs the extra `llm`.

errors.py     what is unusable, in one line
cache.py      keys and values of a batch, compacted to what was accepted
narrow.py     matrix products for few rows
target.py     a Hugging Face causal model as target
head.py       an EAGLE-3-style draft head; eagle.py drafts with it, unroll.py is what training needs of it
drafter.py    what a draft model has to answer; ngram.py and small.py are two more
published.py  heads in the layout of EAGLE-3; loading.py finds out what a user means by a draft
methods.py    sizes, rules and processing by the name of a method
generate.py   texts; texts.py knows when each ends, statistics.py what the steps did
"""
