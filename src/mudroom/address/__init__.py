"""URLs parsed as a browser parses them, and judged: may we go there?"""
