"""robots.txt by RFC 9309: text in, verdicts out."""
