"""Do the concepts carry only what their names say?"""
