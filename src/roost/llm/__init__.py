"""Everything about models: requests and streams free of any provider, dialects, catalogue, retry."""
