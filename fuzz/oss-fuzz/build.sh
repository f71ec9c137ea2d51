#!/bin/bash -eu
# Builds every fuzz target into $OUT, with its dictionary, its options and its corpus. OSS-Fuzz sets $SRC, $OUT and
# $SANITIZER; `SANITIZER=none` builds without one.
cd "$SRC/kubewright"
case "${SANITIZER:-address}" in
  # For reports of coverage; libFuzzer gets no feedback.
  coverage) build=(FUZZ_COVERAGE="--cfg fuzzing -Cinstrument-coverage" SANITIZER= FUZZ_DIR=target/fuzz-guided/coverage) ;;
  none) build=(SANITIZER=) ;;
  *) build=(SANITIZER="${SANITIZER:-address}") ;;
esac
# What the sanitizer needs is in the flags of the Makefile; those of OSS-Fuzz would instrument build scripts too.
unset RUSTFLAGS
make --no-print-directory fuzz-guided-build "${build[@]}"
program="$(make --no-print-directory fuzz-guided-path "${build[@]}")"
KUBEWRIGHT_FUZZ_EXPORT="$OUT" "$program"
# Four fifths of it are lines for backtraces.
objcopy --compress-debug-sections=zlib "$program" "$program.packed"
for dictionary in "$OUT"/*.dict; do
  name="$(basename "$dictionary" .dict)"
  # The name of the program says which target it is.
  cp "$program.packed" "$OUT/$name"
  (cd "$OUT/${name}_seed_corpus" && zip -q -r "../${name}_seed_corpus.zip" .)
  rm -r "$OUT/${name}_seed_corpus"
done
