"""A demonstration on real tools: the operations of well-known cloud services, and an agent that finds its way in them."""
