# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Where this machine gets its packages from; sourced, never run.

# Prints, in deb822 form, a copy of this machine's entry for suite $1 under the name of suite $2.
# Prints nothing where $2 is there already, unless $3 is "again". Fails where there is neither.
source_entry_for() {
  local files=() file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
    /etc/apt/sources.list.d/*.sources; do
    if [[ -r $file ]]; then files+=("$file"); fi
  done
  if ((${#files[@]} == 0)); then return 1; fi
  awk -v suite="$1" -v wanted="$2" -v again="${3-}" '
    function has(list, word,   parts, n, i) {
      n = split(list, parts, /[ \t]+/)
      for (i = 1; i <= n; i++) if (parts[i] == word) return 1
      return 0
    }
    function add(types, uris, suites, components, signed_by, rest) {
      if (!has(types, "deb") || uris ~ /cdrom:/) return
      if (has(suites, wanted)) found = 1
      if (has(suites, suite) && entry == "") {
        entry = "Types: deb\nURIs:" uris "\nSuites: " wanted "\nComponents: main\n"
        if (signed_by != "") entry = entry "Signed-By:" signed_by "\n"
        if (rest != "") entry = entry rest
      }
    }
    function end_stanza() {
      if (enabled !~ /^[ \t]*(no|false|0|off)/) {
        rest = ("trusted" in f) ? "Trusted:" f["trusted"] "\n" : ""
        add(f["types"], f["uris"], f["suites"], f["components"], f["signed-by"], rest)
      }
      delete f; field = ""; enabled = ""
    }
    FNR == 1 { end_stanza(); deb822 = (FILENAME ~ /\.sources$/) }
    /^[ \t]*#/ { next }
    deb822 && /^[ \t]*$/ { end_stanza(); next }
    deb822 && /^[ \t]/ { if (field != "") f[field] = f[field] "\n" $0; next }
    deb822 {
      at = index($0, ":"); field = tolower(substr($0, 1, at - 1)); f[field] = substr($0, at + 1)
      if (field == "enabled") enabled = f[field]
      next
    }
    $1 == "deb" {
      line = $0; sub(/^[ \t]*deb[ \t]+/, "", line); signed_by = ""; rest = ""
      if (match(line, /^\[[^]]*\][ \t]*/)) {
        options = substr(line, 2, index(line, "]") - 2); line = substr(line, RLENGTH + 1)
        n = split(options, o, /[ \t]+/)
        for (i = 1; i <= n; i++) {
          if (o[i] ~ /^signed-by=/) signed_by = " " substr(o[i], 11)
          if (o[i] ~ /^trusted=/) rest = "Trusted: " substr(o[i], 9) "\n"
        }
      }
      n = split(line, w, /[ \t]+/)
      add("deb", " " w[1], w[2], "main", signed_by, rest)
    }
    END {
      end_stanza()
      if (!found || again != "") printf "%s", entry
      exit (found || entry != "") ? 0 : 1
    }
  ' "${files[@]}"
}
