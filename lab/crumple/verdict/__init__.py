"""What a run's figures come to: each claim's verdict, and one run beside another. Pure: reads no file.

Figures are `record`'s, claims as written `study`'s, pages and tables `report`'s.
"""
