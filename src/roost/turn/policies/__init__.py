"""Pure rules, one a file: each looks at the facts and may answer with an action."""
