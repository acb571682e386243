"""The paper's experiments: settings as data, what is drawn, and which claims it answers.

E. Garcelon, M. Ghavamzadeh, A. Lazaric, M. Pirotta (2020). Improved algorithms for conservative
exploration in bandits. AAAI.
"""
