"""Do people accept the explanations, and do they agree with each other?"""
