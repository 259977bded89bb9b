"""How numbers, charts, pages and terminals look. What they show is others' business."""
