"""The frozen values that pass between the parts. They hold data; they use no store, file or model."""
