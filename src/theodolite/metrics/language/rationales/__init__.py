"""Relevance of tokens: is it where people marked, and does the answer need those tokens?"""
