# A suite of what a generator, $GENERATOR, builds in the folder programs, for tests/suites-test.sh. Sourced by scripts/suites.sh.
if to_build; then
    (cd "$built" && logged sh -c "$GENERATOR") || true
    whole
fi
suite generated "$built/programs" "generated" "standard ABI"
