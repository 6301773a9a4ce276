"""The frozen values that pass between the parts. They hold data; they never reach for a store, a file or a model."""
