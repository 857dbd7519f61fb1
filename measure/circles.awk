# SPDX-License-Identifier: GPL-2.0-or-later
# From sources, and from `nm -AP` of their objects ("-"): pairs of files of which the first includes
# the second, or calls what it defines. tsort finds circles in them.

/^#include "/ {
	own = FILENAME
	sub(/^.*\//, "", own)
	split($2, header, "\"")
	print own, header[2]
}

FILENAME == "-" {
	sub(/^.*\//, "")
	sub(/\.o:/, ".c")
	if ($3 == "U")
		uses[$1, $2]
	else if ($3 ~ /[A-Z]/)
		place[$2] = $1
}

END {
	for (use in uses) {
		split(use, pair, SUBSEP)
		if (pair[2] in place)
			print pair[1], place[pair[2]]
	}
}
