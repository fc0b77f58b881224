#!/bin/sh
# Builds the kernels with AddressSanitizer and UndefinedBehaviorSanitizer into a copy of the sources, and runs
# the kernels' tests and the fuzzer on them.
#
#     bench/sanitize.sh [SECONDS [PYTHON]]     seconds of fuzzing, 60 unless told; needs gcc on Linux
#
# PYTHONMALLOC=malloc lets the sanitizer see Python's own memory; leaks are not looked for, since the
# interpreter itself leaves plenty behind. The first report ends the run, with a status that is not 0.
set -eu

seconds=${1:-60}
python=${2:-python}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/segjudge-sanitize.XXXXXX")
trap 'rm -rf "$work"' EXIT

cp -r "$root/src" "$root/tests" "$root/bench" "$root/setup.py" "$root/pyproject.toml" "$root/README.md" "$root/LICENSE" "$work"
find "$work/src" \( -name '*.so' -o -name '*.c' \) -delete
cd "$work"
sed -i 's/-O3/-O1/' setup.py  # checks by the thousand make the optimiser take its time, and hide little here

# Python adds -fwrapv to the flags of gcc, under which no sum can be too large to be seen; others do not.
sanitizers="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-wrapv"
CC=gcc CFLAGS="-g -fno-omit-frame-pointer $sanitizers" LDFLAGS="$sanitizers" \
    "$python" setup.py --quiet build_ext --inplace --parallel 4

preload="$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)"
run() {
    LD_PRELOAD=$preload PYTHONPATH="$work/src" PYTHONMALLOC=malloc \
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        "$@"
}
run "$python" -c "
from segjudge import kernels
import segjudge, sys
sys.exit(not (kernels.COMPILED and segjudge.__file__.startswith('$work')))
"
# Of what pytest holds back of the process's own output, a report would be lost with the process.
run "$python" -m pytest -q --capture=sys -p no:randomly -p no:cacheprovider --hypothesis-profile=ci \
    tests/test_kernels.py tests/test_huge_masks.py tests/test_detection_kernels.py tests/test_precision_kernels.py \
    tests/test_coco_reading.py
run "$python" bench/fuzz.py --seconds "$seconds"
echo "no report from either sanitizer"
