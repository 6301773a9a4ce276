"""The search engines that ``bench/compare.py`` measures side by side, one module each."""
