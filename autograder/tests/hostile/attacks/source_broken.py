"""Source that is no Python."""

exec("def split_kv_decode(:")
