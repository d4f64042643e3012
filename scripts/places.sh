# places.sh - where setup puts what it gets, and how the scripts speak. Sourced, not run.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/ropeway

model=$cache/SmolLM2-135M-Instruct.Q4_1.gguf
gemma=$cache/gemma-3-270m-q4_k_m.gguf
llhttp=$cache/llhttp-9.4.3
requirements=tests/requirements.txt

# Where rustup puts cargo, for shells that were not told so.
export PATH="$PATH:$HOME/.cargo/bin"

say() {
    printf '%s\n' "== $*"
}

warn() {
    printf '%s\n' "warning: $*" >&2
}

fail() {
    printf '%s\n' "error: $*" >&2
    exit 1
}

# The tests' Python packages: a folder of its own for each set of pinned versions.
test_python() {
    printf '%s/venv-%s/bin/python' "$cache" "$(sha256sum "$requirements" | cut -c1-12)"
}
