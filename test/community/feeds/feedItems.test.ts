/** The items of feeds, well-formed ones and others. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { DateTime, Effect, FileSystem } from "effect"
import { feedItems, plainText } from "../../../src/layers/feeds/feedItems.ts"
import { readFeedList } from "../../../src/layers/feeds/feeds.ts"
import { isFull } from "../../support/breadth.ts"

const now = DateTime.makeUnsafe("2026-03-02T12:00:00Z")
/** The processor time in microseconds, whatever else the machine does. */
const processorTime = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return system + user
}

const read = (document: string) => feedItems(document, "https://news.example/feed", now)
const rss = (items: string) => `<rss version="2.0"><channel><title>T</title>${items}</channel></rss>`
const of = (items: string) => read(rss(items)) ?? []
const titlesOf = (items: string) => of(items).map(({ title }) => title)

describe("The items of a feed", () => {
  it("Feed items are read from RSS, RDF and Atom alike, the oldest first", () => {
    const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>f</id><updated>2026-03-02T10:00:00Z</updated>
      <entry><title type="html">New &lt;i&gt;one&lt;/i&gt;</title><id>e2</id><link rel="self" href="/self"/><link href="/2"/>
        <updated>2026-03-02T10:00:00+01:00</updated><summary>About it.</summary></entry>
      <entry><title>Old one</title><id>e1</id><link rel="alternate" href="https://news.example/1"/>
        <published>2026-03-01T10:00:00Z</published><updated>2026-03-02T10:00:00Z</updated></entry></feed>`
    assert.deepStrictEqual(
      read(atom)?.map(({ publishedAt, summary, title, url }) => [
        title,
        summary,
        url,
        DateTime.formatIso(publishedAt)
      ]),
      [
        ["Old one", null, "https://news.example/1", "2026-03-01T10:00:00.000Z"],
        ["New one", "About it.", "https://news.example/2", "2026-03-02T09:00:00.000Z"]
      ]
    )
    const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
      xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x"><title>T</title></channel>
      <item rdf:about="https://news.example/3"><title>Third</title><link>https://news.example/3</link>
      <dc:date>2026-03-01T09:00:00Z</dc:date></item></rdf:RDF>`
    assert.deepStrictEqual(
      read(rdf)?.map(({ publishedAt, title }) => [title, DateTime.formatIso(publishedAt)]),
      [["Third", "2026-03-01T09:00:00.000Z"]]
    )
  })

  it("Feed items have a title and an identity, and an impossible time is marked as unknown", () => {
    assert.deepStrictEqual(of("<item><title>Nothing else</title></item>"), [])
    assert.deepStrictEqual(of("<item><guid>1</guid></item>"), [])
    assert.deepStrictEqual(of("<item><guid>1</guid><title>&lt;br&gt;</title></item>"), [])
    assert.strictEqual(
      of("<item><guid>1</guid><description>Only a text.</description></item>")[0]?.title,
      "Only a text."
    )
    for (const date of [
      "",
      "yesterday",
      "Tue, 03 Mar 2026 12:00:00 GMT",
      "0000-00-00",
      "1900-01-01T00:00:00Z"
    ]) {
      const [item] = of(`<item><guid>1</guid><title>T</title><pubDate>${date}</pubDate></item>`)
      assert.deepStrictEqual([item?.publishedAt, item?.isPublishedAtKnown], [now, false], date)
    }
    for (const link of [
      "javascript:alert(1)",
      "data:text/html,x",
      "http://[",
      "https://user@x.example/1",
      "https://user:secret@x.example/1",
      `https://x.example/${"x".repeat(2000)}`
    ]) {
      assert.isNull(of(`<item><guid>1</guid><title>T</title><link>${link}</link></item>`)[0]?.url, link)
    }
    const long = of(
      `<item><guid>1</guid><title>${"w ".repeat(900)}</title><description>${"w ".repeat(3000)}</description></item>`
    )
    assert.lengthOf([...(long[0]?.title ?? "")], 500)
    assert.isAtMost([...(long[0]?.summary ?? "")].length, 2000)
    assert.lengthOf(
      of(Array.from({ length: 500 }, (_, n) => `<item><guid>${n}</guid><title>${n}</title></item>`).join("")),
      200
    )
  })

  it("Of too many feed items the newest by date are taken, in any order, the undated last", () => {
    const dated = (hour: number) =>
      `<item><guid>${hour}</guid><title>${hour}</title><pubDate>${DateTime.formatIso(DateTime.subtract(now, { hours: hour }))}</pubDate></item>`
    const hours = Array.from({ length: 250 }, (_, index) => (index * 7) % 250)
    const titles = titlesOf(`<item><guid>x</guid><title>Undated</title></item>${hours.map(dated).join("")}`)
    assert.deepStrictEqual(
      titles,
      Array.from({ length: 200 }, (_, index) => String(199 - index))
    )
  })

  it("A feed item has the address of its guid where that is one and nothing else is said", () => {
    const guid = (attribute: string, value = "https://x.example/1") =>
      of(`<item><guid${attribute}>${value}</guid><title>T</title></item>`)[0]?.url
    for (const attribute of ["", ' isPermaLink="true"', ' isPermaLink="TRUE"', ' isPermaLink=""']) {
      assert.strictEqual(guid(attribute), "https://x.example/1", attribute)
    }
    for (const attribute of [' isPermaLink="false"', ' isPermaLink="False"', ' ispermalink=" false "']) {
      assert.isNull(guid(attribute), attribute)
    }
    for (const value of [
      "1",
      "urn:uuid:1",
      "tag:x.example,2026:1",
      "/relative",
      "x.example/1",
      "javascript:alert(1)"
    ]) {
      assert.isNull(guid("", value), value)
    }
    const linked = (link: string) =>
      of(`<item><guid>https://x.example/1</guid><link>${link}</link><title>T</title></item>`)[0]?.url
    assert.strictEqual(linked("https://x.example/2"), "https://x.example/2")
    assert.strictEqual(linked(""), "https://x.example/1")
    assert.strictEqual(linked("javascript:alert(1)"), "https://x.example/1")
  })

  it("Feed items have links that begin from the nearest base, in every format", () => {
    const linksOf = (document: string) =>
      feedItems(document, "https://asked.example/feed", now, "https://host.example/dir/feed")?.map(
        ({ url }) => url
      )
    const atom = (base: string, entry: string, link: string) =>
      `<feed xmlns="http://www.w3.org/2005/Atom"${base}><title>T</title><id>f</id><entry${entry}><title>T</title><id>1</id>
        <link${link} rel="alternate" href="/recent/us1.php?a=1&amp;b=2"/></entry></feed>`
    const inRss = (base: string, channel: string, one: string, link: string) =>
      `<rss version="2.0"${base}><channel${channel}><title>T</title><item${one}><title>T</title><guid isPermaLink="false">1</guid>
        <link${link}>story?a=1&amp;b=2</link></item></channel></rss>`
    const rdf = (base: string, one: string) =>
      `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"${base}>
        <channel rdf:about="x"><title>T</title></channel><item rdf:about="1"${one}><title>T</title><link>story</link></item></rdf:RDF>`
    const xml = (base: string) => ` xml:base="${base}"`
    for (const [document, url] of [
      [atom("", "", ""), "https://host.example/recent/us1.php?a=1&b=2"],
      [atom(xml("http://e.example/"), "", ""), "http://e.example/recent/us1.php?a=1&b=2"],
      [
        atom(xml("http://e.example/"), xml("http://f.example/"), ""),
        "http://f.example/recent/us1.php?a=1&b=2"
      ],
      [atom("", "", ` xml:base='//g.example'`), "https://g.example/recent/us1.php?a=1&b=2"],
      [inRss("", "", "", ""), "https://host.example/dir/story?a=1&b=2"],
      [inRss(xml("http://e.example/x"), "", "", ""), "http://e.example/story?a=1&b=2"],
      [inRss("", xml("http://e.example/c/"), "", ""), "http://e.example/c/story?a=1&b=2"],
      [
        inRss(xml("http://e.example/"), xml("c/"), xml("i/"), xml("l/")),
        "http://e.example/c/i/l/story?a=1&b=2"
      ],
      [inRss(xml("rel/"), "", xml(""), xml("http://[")), "https://host.example/dir/rel/story?a=1&b=2"],
      [rdf(xml("http://e.example/"), xml("ongoing/")), "http://e.example/ongoing/story"]
    ] as const) {
      assert.deepStrictEqual(linksOf(document), [url], document)
    }
    assert.deepStrictEqual(
      linksOf(
        inRss(xml("http://e.example/"), "", "", "").replace(
          "story?a=1&amp;b=2",
          "<![CDATA[ http://x.example/?a=1&b=2 ]]>"
        )
      ),
      ["http://x.example/?a=1&b=2"]
    )
  })

  it("Feed items differ by guid, or by address where guids repeat, or by title where both do", () => {
    const item = (guid: string, link: string, title: string) =>
      `<item>${guid && `<guid isPermaLink="false">${guid}</guid>`}${link && `<link>${link}</link>`}<title>${title}</title></item>`
    const home = "https://x.example/"
    for (const [items, titles] of [
      [[item("1", home, "A"), item("2", home, "B"), item("3", home, "C")], "C B A"],
      [[item("1", `${home}a`, "A"), item("1", `${home}b`, "B"), item("1", `${home}c`, "C")], "C B A"],
      [[item("1", home, "A"), item("1", home, "B")], "B A"],
      [[item("", home, "A"), item("", home, "B")], "B A"],
      [[item("1", `${home}a`, "A"), item("1", `${home}a`, "A"), item("2", `${home}b`, "B")], "B A"],
      [[item("", `${home}a`, "A"), item("", `${home}a#top`, "A"), item("", `${home}b`, "B")], "B A"],
      [[item("1", "", "A"), item("1", "", "B"), item("2", "", "B")], "B B A"]
    ] as const) {
      assert.strictEqual(titlesOf(items.join("")).join(" "), titles, items.join("\n"))
    }
  })

  it("Feed items come from a JSON Feed, too, and its titles and plain texts are no markup", () => {
    const one = (item: unknown) =>
      read(JSON.stringify({ version: "https://jsonfeed.org/version/1.1", title: "T", items: [item] })) ?? []
    const known = { id: "1", title: "T" }
    const fields = (item: unknown) =>
      one(item).map(({ isPublishedAtKnown, summary, title, url }) => [
        title,
        summary,
        url,
        isPublishedAtKnown
      ])
    const at = "https://news.example/1"
    for (const [item, expected] of [
      [{ ...known, url: at, date_published: "2026-03-01T10:00:00-05:00" }, ["T", null, at, true]],
      [{ ...known, url: "/1" }, ["T", null, at, false]],
      [{ ...known, url: "1?a=<xml:base>" }, ["T", null, `${at}?a=%3Cxml:base%3E`, false]],
      [{ ...known, id: at }, ["T", null, at, false]],
      [{ ...known, id: 7 }, ["T", null, null, false]],
      [{ ...known, external_url: "https://else.example/" }, ["T", null, "https://else.example/", false]],
      [{ ...known, url: at, external_url: "https://else.example/" }, ["T", null, at, false]],
      [{ ...known, url: "javascript:alert(1)" }, ["T", null, null, false]],
      [{ ...known, title: "a < b & List<String> &amp;" }, ["a < b & List<String> &amp;", null, null, false]],
      [{ ...known, content_text: "if (a<b) { } &lt;" }, ["T", "if (a<b) { } &lt;", null, false]],
      [{ ...known, content_html: "<p>a &lt; b</p><script>x</script>" }, ["T", "a < b", null, false]],
      [{ ...known, content_html: "<b>x</b>", content_text: "y" }, ["T", "x", null, false]],
      [{ ...known, content_html: "<b>x</b>", summary: "s <i>" }, ["T", "s <i>", null, false]],
      [
        { id: "1", content_text: "Only a text.\nNo title." },
        ["Only a text. No title.", "Only a text. No title.", null, false]
      ],
      [{ ...known, date_published: "2026-03-01" }, ["T", null, null, false]],
      [{ ...known, date_published: "2999-01-01T00:00:00Z" }, ["T", null, null, false]],
      [{ ...known, date_published: 0 }, ["T", null, null, false]],
      [{ ...known, date_modified: "2026-03-01T10:00:00Z" }, ["T", null, null, false]],
      [{ id: "1", url: at }, undefined],
      [{ title: "Nothing to be known by" }, undefined],
      [{ id: true, title: "T" }, undefined],
      [{ id: {}, title: ["T"] }, undefined],
      [null, undefined],
      ["text", undefined],
      [[], undefined]
    ] as const) {
      assert.deepStrictEqual<unknown>(
        fields(item),
        expected === undefined ? [] : [expected],
        JSON.stringify(item)
      )
    }
    for (const [document, count] of [
      ['{"version":"https://jsonfeed.org/version/1","title":"T","items":[]}', 0],
      ['{"version":"https://jsonfeed.org/version/1.1","title":"T"}', 0],
      ['{"version":"https://jsonfeed.org/version/1.1","title":"T","items":{}}', 0],
      ['\ufeff{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","title":"T"}]}', 1],
      ['\n\t {"items":[{"id":"1","title":"T"}],"version":"https://jsonfeed.org/version/2"}', 1],
      [
        '{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","title":"A"},{"id":"1","title":"B"}]}',
        2
      ]
    ] as const) {
      assert.lengthOf(read(document) ?? [], count, document)
    }
  })

  it("A feed item is known by any guid, or by link and title where all have the same guid", () => {
    const keysOf = (guid: string, title = "T") =>
      of(`<item><guid>${guid}</guid><title>${title}</title></item>`)[0]?.names
    const guids = [
      "1",
      "01",
      "1.0",
      "&#1;1",
      "&#x80;1",
      "1\u0085",
      "1\u200b",
      "\ufeff1x",
      "1\ufffd",
      "\u202e1",
      "\ud83d",
      "\ude42",
      "1\u0301",
      "\u2460",
      "&lt;1&gt;",
      "<![CDATA[<1 &amp;>]]>",
      "null",
      "undefined",
      "[object Object]",
      "__proto__",
      "constructor",
      "0",
      "false",
      "tag:x.example,2026:1",
      "urn:uuid:00000000-0000-0000-0000-000000000000",
      "TAG:x.example,2026:1",
      "https://x.example/?a=1&amp;b=2",
      "https://x.example/?a=1&amp;amp;b=2",
      "x".repeat(10_000),
      `${"x".repeat(10_000)}y`
    ]
    const names = guids.map((guid) => {
      const found = keysOf(guid)
      assert.deepStrictEqual(keysOf(guid, "Another title"), found, guid.slice(0, 50))
      return Buffer.from(found?.[0] ?? []).toString("hex")
    })
    // Halves of a character are one and the same: U+FFFD.
    assert.strictEqual(new Set(names).size, guids.length - 1)
    // White space around a guid is not part of it, and a guid of white space alone is none.
    assert.deepStrictEqual(keysOf("\n 1 \t"), keysOf("1"))
    assert.isUndefined(keysOf(" "))
    for (const guid of ["1", "0", "urn:uuid:0", "https://x.example/", "null", "\ufffd", "&#1;"]) {
      const item = (link: string, title: string) =>
        `<item><guid isPermaLink="false">${guid}</guid>${link}<title>${title}</title></item>`
      const link = (path: string) => `<link>https://x.example/${path}</link>`
      assert.strictEqual(
        titlesOf([item("", "A"), item("", "B"), item("", "C")].join("")).join(" "),
        "C B A",
        guid
      )
      assert.strictEqual(
        titlesOf([item(link("a"), "A"), item(link("b"), "A"), item(link("a"), "B")].join("")).join(" "),
        "B A A",
        guid
      )
    }
  })

  it("A document that is no feed has no feed items", () => {
    for (const document of [
      "",
      " ",
      "\0",
      "[]",
      "null",
      '{"items":[{"id":"1","title":"T"}]}',
      '{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{',
      "<!doctype html><html><title>T</title></html>",
      "<opml version='2.0'><body/></opml>",
      "<html xmlns='http://www.w3.org/1999/xhtml'><body><rss/></body></html>",
      "Too many requests"
    ]) {
      assert.throws(() => assert.isDefined(read(document)), Error, undefined, document)
    }
    // Entities that a document declares itself are neither expanded nor fetched.
    const bomb = `<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>`
    let items: unknown = []
    try {
      items = read(
        `${bomb}<rss version="2.0"><channel><item><guid>1</guid><title>&b;&c;</title></item></channel></rss>`
      )
    } catch {
      // A refusal is as good.
    }
    assert.notInclude(JSON.stringify(items), "aaaa")
    assert.notInclude(JSON.stringify(items), "root:")
  })
})

describe("Markup as plain text", () => {
  it("Plain text has no tags, scripts and control characters, and is on one line", () => {
    for (const [markup, text] of [
      ["<p>One</p><p>two<br>three</p>", "One two three"],
      ["a<b>b</b>c", "abc"],
      ["x<script>alert(1)</script>y<style>p{}</style>z", "x y z"],
      ["x<!-- hidden -->y", "x y"],
      ["<SCRIPT>x</SCRIPT >İ<B>y</B>", "İy"],
      ["5 < 6 and 7 > 6", "5 < 6 and 7 > 6"],
      ["&lt;b&gt; &amp;amp; &#65;&#x42; &nope; &#1114112;", "<b> &amp; AB &nope; &#1114112;"],
      ["be\u202eware\u0000 e\u0301", "beware \u00e9"],
      ["x<script>never ends", "x"],
      [
        "L&rsquo;&eacute;conomie, &Zcaron;&ccaron; &notin; &CounterClockwiseContourIntegral;",
        "L’économie, Žč ∉ ∳"
      ],
      ["&nbsp;&ensp;&emsp;&thinsp;a&hairsp;b", "a b"],
      ["&hellip;&mdash;&ndash;&laquo;&raquo;&bdquo;", "…—–«»„"],
      ["&Alpha;&omega;&thetasym;&piv;", "Αωϑϖ"],
      ["&half;&frac34;&sup2;&times;&divide;", "½¾²×÷"],
      ["&NotEqualTilde;&nGg;&bne;", "≂̸⋙̸=⃥"],
      ["&Afr;&Zopf;&cscr;", "𝔄ℤ𝒸"],
      ["&yen;&pound;&cent;&euro;&curren;", "¥£¢€¤"],
      ["&DZcy;&Jukcy;&iocy;&SHCHcy;", "ЏЄёЩ"],
      ["&apos;&quot;&lt;&gt;&amp;", "'\"<>&"],
      ["&AMP;&LT;&GT;&QUOT;&COPY;&REG;", '&<>"©®'],
      ["&Tab;a&NewLine;b", "a b"],
      ["&#x1F680;&#128640;&#X1f680;", "🚀🚀🚀"],
      ["&#0065;&#x00041;", "AA"],
      ["&#39;&#x27;&#8217;", "''’"],
      ["a&#160;b&#xa0;c", "a b c"],
      ["&#55357;&#56832;", "&#55357;&#56832;"],
      ["&#xFFFE;&#xFFFF;", "\ufffe\uffff"],
      ["&#9;&#10;&#13;x", "x"],
      ["a&#8203;b", "a\u200bb"],
      ["x&#8238;y&#x2066;z", "xyz"],
      ["&;&#;&#x;&x;& ", "&;&#;&#x;&x;&"],
      ["&ampx; &amp;x; &ltx;", "&ampx; &x; &ltx;"],
      ["&notit; &notin;", "&notit; ∉"],
      ["&eacute &eacute;", "&eacute é"],
      ["&EACUTE;&Eacute;", "&EACUTE;É"],
      ["&#99999999999999;&#x99999999999;", "&#99999999999999;&#x99999999999;"],
      ["&#-1;&#1.5;&#1e3;", "&#-1;&#1.5;&#1e3;"],
      ["&amp;#65;&amp;lt;", "&#65;&lt;"],
      ["&lt;script&gt;x&lt;/script&gt;", "<script>x</script>"],
      ["&#60;b&#62;x&#60;/b&#62;", "<b>x</b>"],
      ["&fjlig;&ffilig;", "fjﬃ"],
      ["&zwj;&zwnj;&shy;x", "\u200d\u200c\u00adx"],
      ["&#128;5 &#x80;5 &#146;s &#x9f; &#8364;", "€5 €5 ’s Ÿ €"],
      ["Z&uuml;rich &amp;uuml; &Uuml; &UUML;", "Zürich &uuml; Ü &UUML;"],
      ["&#0; &#xD800; &#x110000; ?a=1&copy=2 AT&T; R&D", "&#0; &#xD800; &#x110000; ?a=1&copy=2 AT&T; R&D"],
      ["  ", ""]
    ] as const) {
      assert.strictEqual(plainText(markup, 100), text, markup)
    }
    assert.strictEqual(plainText("one two three", 8), "one two…")
    assert.strictEqual(
      plainText(`Zoe${"\u0308".repeat(200)}${"\u0316".repeat(200)} <b>was</b> here`, 100),
      `Zo\u00eb${"\u0308".repeat(29)} was here`
    )
  })

  it.runIf(isFull)("Plain text of hostile markup costs less than a second of processor time", () => {
    const cost = processorTime(() => {
      plainText("<".repeat(500_000), 100)
      plainText("<script".repeat(50_000), 100)
      plainText("&#".repeat(200_000), 100)
    })
    assert.isBelow(cost, 1_000_000)
  })

  it.runIf(isFull)("Plain text costs no more with combining marks than with as many letters", () => {
    const cost = (text: string): number =>
      processorTime(() => {
        for (let index = 0; index < 20; index++) plainText(text, 2000)
      })
    const marks = `a${"\u0300".repeat(49_999)}${"\u0316".repeat(50_000)}`
    const letters = "\u0430".repeat(100_000)
    cost(letters)
    assert.isBelow(cost(marks), 10 * cost(letters))
  })
})

layer(NodeServices.layer)("The list of feeds", (it) => {
  const readText = Effect.fnUntraced(function* (text: string, ownMachine: boolean) {
    const fileSystem = yield* FileSystem.FileSystem
    const directory = yield* fileSystem.makeTempDirectoryScoped()
    yield* fileSystem.writeFileString(`${directory}/feeds.yaml`, text)
    return yield* readFeedList(`${directory}/feeds.yaml`, { ownMachine })
  })

  it.effect("The list of feeds is YAML: each feed with its source, its spaces and its assets", () =>
    Effect.gen(function* () {
      const feeds = yield* readText(
        `feeds:
  - url: https://www.federalreserve.gov/feeds/press_all.xml
    source: Federal Reserve
    spaces: [policy, finance]
    assets: [ES, ZN]
  - { url: "http://127.0.0.1:8000/feed", source: Here }
`,
        true
      )
      assert.deepStrictEqual(feeds, [
        {
          url: "https://www.federalreserve.gov/feeds/press_all.xml",
          source: "Federal Reserve",
          spaces: ["policy", "finance"],
          assets: ["ES", "ZN"]
        },
        { url: "http://127.0.0.1:8000/feed", source: "Here" }
      ])
    })
  )

  it.effect("An unusable list of feeds is rejected in one line that names the setting and the field", () =>
    Effect.gen(function* () {
      const one = (fields: string) => `feeds: [{ source: S, ${fields} }]`
      for (const [text, named] of [
        ["", "feeds"],
        ["feeds: []", "feeds"],
        ["feeds: [", "AUSPEX_EVENT_FEEDS"],
        [one('url: "ftp://x.example/"'), "feeds.0.url"],
        [one('url: "https://user:secret@x.example/"'), "feeds.0.url"],
        [one('url: "http://127.0.0.1/"'), "feeds.0.url"],
        [one('url: "http://10.0.0.1/"'), "feeds.0.url"],
        [one('url: "https://x.example/", spaces: [sports]'), "spaces"],
        ['feeds: [{ url: "https://x.example/" }]', "source"],
        [
          `feeds: [{ url: "https://x.example/", source: A }, { url: "https://x.example/", source: B }]`,
          "feeds.1.url"
        ]
      ] as const) {
        const { message } = yield* Effect.flip(readText(text, false))
        assert.match(message, /^AUSPEX_EVENT_FEEDS=/)
        assert.include(message, named, text)
        assert.notInclude(message, "\n")
      }
      const missing = yield* Effect.flip(readFeedList("/nowhere/feeds.yaml", { ownMachine: false }))
      assert.include(missing.message, "/nowhere/feeds.yaml")
    })
  )
})
