"""Write one file without end."""


def split_kv_decode(*args, **kwargs):
    with open("large", "wb") as file:
        while True:
            file.write(b"x" * (1 << 20))
