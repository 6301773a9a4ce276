"""Adapters for agent frameworks: one small module each, which needs that framework and nothing else.

``langchain``, ``langgraph``, ``llama_index``, ``pydantic_ai``, ``openai_agents``, ``anthropic_memory``, ``smolagents``;
``actions`` holds what their tools do.
"""
