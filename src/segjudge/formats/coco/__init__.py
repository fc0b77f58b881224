"""COCO's files: annotations as the truth of semantic tasks and of instances, and lists of results.

`instances` and `results` serve the task coco, `source` the semantic tasks; a score loads what it needs.
"""
