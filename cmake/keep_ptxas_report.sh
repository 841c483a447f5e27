#!/bin/sh
# keep_ptxas_report.sh REPORT COMMAND...: runs a compiler and keeps what ptxas says of each function (registers,
# spills) in REPORT. Everything else that the compiler writes to standard error passes through.
report=$1
shift
"$@" 2>"$report.partial"
status=$?
grep -v -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' "$report.partial" >&2
mv "$report.partial" "$report"
exit $status
