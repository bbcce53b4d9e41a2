"""Checks of the lab flash_decoding: split_kv_decode and the time model of decode attention."""
