"""Models: requests and streams free of any provider, dialects, catalogue, retry, the client."""
