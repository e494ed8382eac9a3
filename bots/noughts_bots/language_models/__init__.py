"""Language models as players (`llm{model=NAME}:`): they need the network, so their authors' processes run them."""
