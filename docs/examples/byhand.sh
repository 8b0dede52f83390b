set -eu
PROOF=$1 KEY=$2
# the parts of the file
sed -n 's/^extra //p' "$PROOF" | base64 -d > extra.json
INDEX=$(sed -n 's/^index //p' "$PROOF")
sed '1,/^$/d' "$PROOF" > note
sed '/^$/,$d' note > body
SIZE=$(sed -n 2p body)
jq -j .entry extra.json > entry; jq -j .body extra.json > said; jq -j .salt extra.json > salt
# 1. the signature: an Ed25519 key in DER is 12 fixed bytes and the 32 of the key
unhex() { printf "$(sed 's/../\\x&/g')"; }
MATERIAL=${KEY#*+}; MATERIAL=${MATERIAL#*+}
{ echo 302a300506032b6570032100 | unhex; echo "$MATERIAL" | base64 -d | tail -c 32; } > key.der
ID=${KEY#*+}; ID=${ID%%+*}
grep "^— ${KEY%%+*} " note | sed 's/.* //' | while read -r LINE; do
  [ "$(echo "$LINE" | base64 -d | head -c 4 | od -An -tx1 | tr -d ' \n')" != "$ID" ] || echo "$LINE"
done | base64 -d | tail -c 64 > signature
openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in body -sigfile signature
# 2. from the entry up to the root
sha() { openssl dgst -sha256 -binary; }
{ printf '\0'; cat entry; } | sha > hash
AT=$INDEX LAST=$((SIZE - 1))
sed -n '/^index /,/^$/p' "$PROOF" | sed '1d;$d' | while read -r SIBLING; do
  echo "$SIBLING" | base64 -d > sibling
  if [ $((AT % 2)) = 1 ] || [ "$AT" = "$LAST" ]; then
    { printf '\1'; cat sibling hash; } | sha > up
    while [ $((AT % 2)) = 0 ] && [ "$AT" != 0 ]; do AT=$((AT / 2)) LAST=$((LAST / 2)); done
  else
    { printf '\1'; cat hash sibling; } | sha > up
  fi
  mv up hash; AT=$((AT / 2)) LAST=$((LAST / 2))
done
[ "$(base64 < hash)" = "$(sed -n 3p body)" ] || { echo "it is not in the tree"; exit 1; }
echo "entry $INDEX is in the tree of $SIZE"
# 3. what was sealed, where the file opens it
[ "$(jq 'has("body")' extra.json)" = true ] || { cat entry; echo; exit 0; }
COMMIT=$({ printf 'auspex/commit/v1\0'; unhex < salt; cat said; } | sha256sum | cut -c1-64)
[ "$COMMIT" = "$(jq -r .c entry)" ] || { echo "it is not what was sealed"; exit 1; }
echo "$COMMIT"; cat entry; echo; cat said; echo
