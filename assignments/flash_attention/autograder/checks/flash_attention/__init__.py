"""The checks of flash_attention: public.py goes to students, hidden.py never does."""
