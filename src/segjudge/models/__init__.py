"""A baseline for each page: train a small net, predict with it, and write a submission that is valid.

Importing this package loads neither torch nor scikit-image; what needs them says so when it is called.
"""
