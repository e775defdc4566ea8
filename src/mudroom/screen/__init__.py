"""Signs of instruction in text, and the policy that turns them into a verdict."""
