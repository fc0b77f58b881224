#!/bin/sh
# Scores the four example submissions and checks the four flawed ones. Leaves with 0 if all went as it should.
set -eu
cd "$(dirname "$0")"

score() { # task truth submission
    printf '\n$ segjudge score %s %s %s\n' "$1" "$1/$2" "$1/$3"
    segjudge score "$1" "$1/$2" "$1/$3" --quiet
}

check() { # task submission truth
    printf '\n$ segjudge check %s %s --truth %s\n' "$1" "$1/$2" "$1/$3"
    status=0
    segjudge check "$1" "$1/$2" --truth "$1/$3" --quiet || status=$?
    if [ "$status" -ne 1 ]; then # 1: the submission is at fault, as it should be here
        echo "run.sh: expected status 1, got $status" >&2
        exit 1
    fi
}

score wad-2018 truth.csv good.csv
score badlad truth.csv good.csv
score dsb-2018 truth.csv good.csv
score emoji truth good.zip

check wad-2018 flawed.csv truth.csv
check badlad flawed.csv truth.csv
check dsb-2018 flawed.csv truth.csv
check emoji flawed.zip truth
