"""Readers of the files that people hand in: tables, archives, pictures and COCO's JSON."""
