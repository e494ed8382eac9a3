"""The protocol's words for the store's values: conversions between both, and resource names."""
