// Checks the public log with golang.org/x/mod/sumdb, which Go's own checksum database is checked with.
//
//	trackrecord proof KEY FILE  the signature of the checkpoint in a proof file, the path of its entry to the root, and,
//	                            where the file opens a prediction, that salt and body are what was sealed
//	trackrecord log KEY URL     the newest checkpoint below URL/log, every tile, and every entry that it covers
//
// It prints what it has checked, and exits with 1 at the first thing that does not hold.
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// head opens a checkpoint: a signed note of an origin, a size and a root.
func head(key string, checkpoint []byte) tlog.Tree {
	verifier, err := note.NewVerifier(key)
	check(err)
	opened, err := note.Open(checkpoint, note.VerifierList(verifier))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		check(errors.New("the checkpoint is of another log"))
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	return tlog.Tree{N: size, Hash: root}
}

func proof(key, file string) {
	text, err := os.ReadFile(file)
	check(err)
	above, checkpoint, found := strings.Cut(string(text), "\n\n")
	lines := strings.Split(above, "\n")
	if !found || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		check(errors.New("this is no proof"))
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	check(err)
	var extra struct{ Entry, Salt, Body string }
	check(json.Unmarshal(data, &extra))
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	check(err)
	var path tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		check(err)
		path = append(path, hash)
	}
	tree := head(key, []byte(checkpoint))
	check(tlog.CheckRecord(path, tree.N, tree.Hash, index, tlog.RecordHash([]byte(extra.Entry))))
	fmt.Printf("entry %d of %d: %s\n", index, tree.N, extra.Entry)
	if extra.Salt == "" && extra.Body == "" {
		return
	}
	check(opens(extra.Entry, extra.Salt, extra.Body))
	fmt.Printf("sealed: %s\n", extra.Body)
}

// opens checks that salt and body are what the commit of an entry was made of: SHA-256(domain, salt, body).
func opens(entry, salt, body string) error {
	var recorded struct {
		C           string
		ChallengeID string `json:"challenge_id"`
	}
	var said struct {
		ChallengeID string `json:"challenge_id"`
	}
	if err := json.Unmarshal([]byte(entry), &recorded); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		return err
	}
	bytes, err := hex.DecodeString(salt)
	if err != nil || len(bytes) != 32 {
		return errors.New("the salt is not 32 bytes")
	}
	commit := sha256.Sum256([]byte("auspex/commit/v1\x00" + string(bytes) + body))
	if hex.EncodeToString(commit[:]) != recorded.C {
		return errors.New("salt and body are not what was sealed")
	}
	if said.ChallengeID != recorded.ChallengeID {
		return errors.New("the body is of another challenge")
	}
	return nil
}

func get(address string) ([]byte, error) {
	response, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", address, response.Status)
	}
	return body, err
}

// tiles reads the tiles of a log. C2SP has their height in the specification, Go in their path.
type tiles string

func (base tiles) Height() int                     { return 8 }
func (base tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (base tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var read [][]byte
	for _, tile := range wanted {
		data, err := get(string(base) + "/log/" + strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		read = append(read, data)
	}
	return read, nil
}

func log(key, base string) {
	checkpoint, err := get(base + "/log/checkpoint")
	check(err)
	tree := head(key, checkpoint)
	reader := tlog.TileHashReader(tree, tiles(base))
	for n := int64(0); n*256 < tree.N; n++ {
		width := int(tree.N - n*256)
		if width > 256 {
			width = 256
		}
		path := strings.Replace(tlog.Tile{H: 8, L: 0, N: n, W: width}.Path(), "tile/8/0/", "tile/entries/", 1)
		bundle, err := get(base + "/log/" + path)
		check(err)
		for i := int64(0); i < int64(width); i++ {
			length := int(binary.BigEndian.Uint16(bundle))
			hashes, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, n*256+i)})
			check(err)
			if hashes[0] != tlog.RecordHash(bundle[2:2+length]) {
				check(fmt.Errorf("entry %d is not the one in the tree", n*256+i))
			}
			bundle = bundle[2+length:]
		}
		if len(bundle) != 0 {
			check(errors.New("a bundle holds more than it should"))
		}
	}
	fmt.Printf("%d entries, root %s\n", tree.N, tree.Hash)
}

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "proof":
		proof(os.Args[2], os.Args[3])
	case len(os.Args) == 4 && os.Args[1] == "log":
		log(os.Args[2], os.Args[3])
	default:
		check(errors.New("usage: trackrecord proof KEY FILE | trackrecord log KEY URL"))
	}
}
