"""What checks types and shapes while the tests run: beartype, where an int may stand for a float."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
