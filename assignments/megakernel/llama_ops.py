"""
The operations of one decode step of Llama-3.2-1B at batch size 1, as lists of kernels.

An operation is the bytes that it reads and the CTAs that share them; this version leaves out
activations, which are small at batch size 1, and everything that an operation computes.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Op:
    """
    One operation: its name, the bytes that it reads from HBM, the CTAs that share the work.

    ctas = 0 marks a small kernel: one block that reads next to nothing.
    """

    name: str
    bytes: int
    ctas: int


@dataclass(frozen=True)
class TimelineParams:
    """
    What the timeline knows of the GPU and of the two ways to run on it; seconds, bytes/s, bytes.

    n_sm: SMs; hbm: bandwidth of the memory; eff: share of hbm that a kernel reaches; launch: gap
    before a kernel starts; ramp: until its loads run at full speed; small: a small kernel's time;
    sync: wait for the previous operation's signal; instr_overhead: one instruction of the
    megakernel; smem_buf: shared memory of an SM that weights can be loaded ahead into.
    """

    n_sm: int = 132
    hbm: float = 3.35e12
    eff: float = 0.9
    launch: float = 1.3e-6
    ramp: float = 1e-6
    small: float = 2e-6
    sync: float = 1e-6
    instr_overhead: float = 0.5e-6
    smem_buf: int = 13 * 16 * 1024


def llama_1b_ops(context=160, rows_per_cta=16, kernels="7") -> list[Op]:
    """
    The operations of one decode step of Llama-3.2-1B in bf16, in order, the embedding left out.

    Args:
        context: tokens in the KV cache
        rows_per_cta: output rows of a projection that one CTA computes
        kernels: "7" or "12" kernels a layer, or "fused", 5 a layer

    Returns:
        list of Op; bytes are the weights, for attention the KV cache

    Raises:
        ValueError: context below 0, rows_per_cta below 1, an unknown kernels

    Source: Hazy Research 2025, Look Ma, No Bubbles! Designing a Low-Latency Megakernel for
    Llama-1B, for the step and its fused operations; Meta's config.json of Llama-3.2-1B.
    """
    if context < 0:
        raise ValueError(f"context must be at least 0, got {context}")
    if rows_per_cta < 1:
        raise ValueError(f"rows_per_cta must be at least 1, got {rows_per_cta}")

    layers, d, q_heads, kv_heads, head, ffn, vocabulary = 16, 2048, 32, 8, 64, 8192, 128256
    bf16 = 2  # bytes

    def projection(name, rows, columns):
        return Op(name, rows * columns * bf16, max(1, rows // rows_per_cta))

    def small(name, bytes=0):
        return Op(name, bytes, 0)

    def norm(name="rmsnorm"):
        return small(name, 2 * d * bf16)

    def qkv(name):
        return projection(name, (q_heads + 2 * kv_heads) * head, d)

    def o_proj(name):
        return projection(name, d, d)

    def gate_up(name):
        return projection(name, 2 * ffn, d)

    def down(name):
        return projection(name, d, ffn)

    def lm_head(name):
        return projection(name, vocabulary, d)

    attention = Op("attention", 2 * context * kv_heads * head * bf16, q_heads)

    if kernels == "7":
        layer = [norm(), qkv("qkv+rope"), attention, o_proj("o_proj+resid")]
        layer += [norm(), gate_up("gate_up+silu"), down("down+resid")]
        last = [norm("final_norm"), lm_head("lm_head")]
    elif kernels == "12":
        layer = [norm(), qkv("qkv"), small("rope"), small("kv_write"), attention]
        layer += [o_proj("o_proj"), small("residual")]
        layer += [norm(), gate_up("gate_up"), small("silu_mul"), down("down"), small("residual")]
        last = [norm("final_norm"), lm_head("lm_head")]
    elif kernels == "fused":
        layer = [qkv("norm+qkv+rope"), attention, o_proj("o_proj+resid")]
        layer += [gate_up("norm+gate_up+silu"), down("down+resid")]
        last = [lm_head("norm+lm_head")]
    else:
        raise ValueError(f'kernels must be "7", "12" or "fused", got {kernels!r}')
    return layers * layer + last
