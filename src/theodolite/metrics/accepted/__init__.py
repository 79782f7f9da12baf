"""Would people agree?"""
