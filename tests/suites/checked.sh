# A suite of wrong programs without programs, for tests/suites-test.sh, whose check.py tells what has come of them. Sourced by scripts/suites.sh.
checked checked "checked" --programs "$home"
