//! The content of exports, as text.

use std::io::{self, Write};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use pi_protocol::{
    AssistantBlock, Compaction, CustomEntryMessage, Message, MessageContent, UserBlock,
};
use pi_session::{HtmlOptions, MarkdownOptions, OpenOptions, Session, SessionError, ToolDetail};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::effects::resolver;
use crate::page::{DOT, answer, call, result};

fn html(session: &mut Session) -> String {
    let mut page = Vec::new();
    session.export_html(&HtmlOptions::default().effects(resolver()), &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// Returns the part of the page that comes from the session.
fn body(session: &mut Session) -> String {
    let page = html(session);
    let (_, rest) = page.split_once("<main>").unwrap();
    rest.split_once("</main>").unwrap().0.to_owned()
}

fn markdown_options() -> MarkdownOptions {
    MarkdownOptions::default().effects(resolver())
}

fn markdown(session: &Session, options: &MarkdownOptions) -> String {
    let mut text = Vec::new();
    session.export_markdown(options, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {text}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} in {rest}")).0
}

/// Returns the HTML of a text of the model.
fn prose(text: &str) -> String {
    let mut session = Session::in_memory("/proj");
    session.append_message(answer(vec![AssistantBlock::text(text)])).unwrap();
    let page = body(&mut session);
    between(&page, "<div class=\"prose\" dir=\"auto\">", "</div>\n</article>").replace('\n', "")
}

/// Returns a hash in the form of a content security policy.
fn hash(text: &[u8]) -> String {
    BASE64_STANDARD.encode(Sha256::digest(text))
}

#[test]
fn the_policy_admits_the_style_and_script_of_the_page() {
    let page = html(&mut Session::in_memory("/proj"));
    let style = hash(between(&page, "<style>", "</style>").as_bytes());
    let script = hash(between(&page, "<script>", "</script>").as_bytes());
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; \
             img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "assets changed: put these hashes into export/html.rs"
    );
}

#[test]
fn markdown_becomes_html_and_raw_html_is_escaped() {
    let cases = [
        ("plain & <simple>", "<p>plain &amp; &lt;simple&gt;</p>"),
        ("# A\n### B", "<h3>A</h3><h5>B</h5>"),
        (
            "a *b* **c** ~~d~~ `e<f`",
            "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;f</code></p>",
        ),
        ("3. x\n4. y", "<ol start=\"3\"><li>x</li><li>y</li></ol>"),
        (
            "- [x] done\n- [ ] not",
            "<ul><li><span class=\"task\" role=\"img\" aria-label=\"done\">☑</span> done</li>\
             <li><span class=\"task\" role=\"img\" aria-label=\"to do\">☐</span> not</li></ul>",
        ),
        (
            "|a|b|\n|-|-:|\n|1|2|",
            "<div class=\"table\"><table><thead><tr><th>a</th><th class=\"right\">b</th></tr></thead>\
             <tbody><tr><td>1</td><td class=\"right\">2</td></tr></tbody></table></div>",
        ),
        (
            "[a](https://b.example/?c=\"d) <mailto:e@f.example>",
            "<p><a href=\"https://b.example/?c=&quot;d\" rel=\"noopener noreferrer\">a</a> \
             <a href=\"mailto:e@f.example\" rel=\"noopener noreferrer\">mailto:e@f.example</a></p>",
        ),
        ("[a](javascript:b) [c](relative) [d](#e)", "<p>a c d</p>"),
        (
            "![alt *text*](http://a.example/b.png)",
            "<p><a class=\"image\" href=\"http://a.example/b.png\" rel=\"noopener noreferrer\">\
             alt <em>text</em></a></p>",
        ),
        (
            "[![a](http://b.example)](http://c.example)",
            "<p><a href=\"http://c.example\" rel=\"noopener noreferrer\">a</a></p>",
        ),
        ("a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>"),
        ("<div>\nx\n</div>", "<p class=\"verbatim\">&lt;div&gt;x&lt;/div&gt;</p>"),
        (
            "```rust\nlet a = 1; // <b>\n```",
            "<pre class=\"code\" tabindex=\"0\"><code><span class=\"k\">let</span> a = \
             <span class=\"n\">1</span>; <span class=\"c\">// &lt;b&gt;</span></code></pre>",
        ),
        (
            "```nonsense\n<b>\n```",
            "<pre class=\"code\" tabindex=\"0\"><code>&lt;b&gt;</code></pre>",
        ),
        ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"),
        ("\u{202e}a\0b\x1bc", "<p>[U+202E]a␀b␛c</p>"),
        ("a\u{e0041}b\u{200b} 👩\u{200d}👧", "<p>a[U+E0041]b[U+200B] 👩\u{200d}👧</p>"),
    ];
    for (text, expected) in cases {
        assert_eq!(prose(text), expected, "{text}");
    }
}

#[test]
fn title_and_highlight_limit_are_applied() {
    let mut session = Session::in_memory("/proj");
    let code = "```rust\nlet a = 1;\n```";
    session.append_message(answer(vec![AssistantBlock::text(format!("{code}\n{code}"))])).unwrap();
    for (highlight_limit, highlighted) in [(0, 0), (15, 1), (1000, 2)] {
        let mut page = Vec::new();
        let mut options = HtmlOptions::default().title("An <own> title");
        options.highlight_limit = highlight_limit;
        session.export_html(&options, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert_eq!(page.matches("<span class=\"k\">let").count(), highlighted, "{highlight_limit}");
        assert!(page.contains("<title>An &lt;own&gt; title</title>"));
        assert!(page.contains("<h1>An &lt;own&gt; title</h1>"));
    }
}

#[test]
fn tags_are_balanced_for_deeply_nested_and_broken_text() {
    let cases = [
        "> ".repeat(5_000) + "x",
        "- ".repeat(2_000) + "x",
        "*".repeat(3_000) + "x" + &"**".repeat(1_000),
        "[".repeat(5_000) + "x" + &"](http://a.example)".repeat(2_000),
        "![[".repeat(500) + &"](http://a.example)".repeat(1_000),
        "| a ".repeat(300) + "|\n" + &"|-".repeat(300) + "|\n|" + &"b|".repeat(300),
        "```\n".repeat(1_001),
        "x".repeat(600_000),
        format!("```rust\n{}\n```", "x = \"".repeat(2_000)),
        format!("```rust\n{}\n```", "fn a() { /* \n".repeat(3_000)),
    ];
    for text in cases {
        let page = prose(&text);
        let name = &text[..text.len().min(20)];
        let mut open: Vec<&str> = Vec::new();
        let mut deepest = 0;
        for tag in page.split('<').skip(1).map(|rest| rest.split_once('>').unwrap().0) {
            match tag.strip_prefix('/') {
                Some(closing) => assert_eq!(open.pop(), Some(closing), "{name}"),
                None if matches!(tag, "br" | "hr") => {}
                None => open.push(tag.split(' ').next().unwrap()),
            }
            deepest = deepest.max(open.len());
        }
        assert!(open.is_empty() && deepest < 40, "{name}: {deepest} {open:?}");
    }
}

#[test]
fn terminal_output_is_shown_as_in_a_terminal() {
    let cases = [
        ("plain <b>", "plain &lt;b&gt;"),
        ("\x1b[31mred\x1b[0m not", "<span class=\"red\">red</span> not"),
        ("\x1b[1;38;5;196mx\x1b[m", "<span class=\"bold red\">x</span>"),
        ("\x1b[38;2;10;200;30mx\x1b[39my", "<span class=\"green\">x</span>y"),
        ("\x1b]8;;http://a.example\x07link\x1b]8;;\x1b\\ \x1b]0;title\x07.", "link ."),
        ("10%\r50%\r\x1b[2Kdone\r\nnext", "done\nnext"),
        (
            "\x1b[31mred\rstill\nalso",
            "<span class=\"red\">still</span>\n<span class=\"red\">also</span>",
        ),
        ("cut \x1b[3", "cut "),
        ("cut \x1b]0;title", "cut "),
        ("\x1b", ""),
        ("a\x07b\x1b(Bc", "a␇bc"),
    ];
    for (text, expected) in cases {
        let mut session = Session::in_memory("/proj");
        session.append_message(answer(vec![call("c", "bash", json!({"command": "x"}))])).unwrap();
        session.append_message(result("c", "bash", text)).unwrap();
        let page = body(&mut session);
        let shown = match page.contains("class=\"output\"") {
            true => between(&page, "<pre class=\"output\" tabindex=\"0\">", "</pre>"),
            false => "",
        };
        assert_eq!(shown, expected, "{text:?}");
    }
}

#[test]
fn calls_are_one_line_and_results_are_shown_at_their_call() {
    let cases = [
        ("read", json!({"path": "a.rs"}), "a.rs"),
        ("read", json!({"path": "a.rs", "offset": 10, "limit": 5}), "a.rs:10-14"),
        ("read", json!({"path": "a.rs", "limit": 5}), "a.rs:1-5"),
        (
            "read",
            json!({"path": "a.rs", "offset": u64::MAX, "limit": u64::MAX}),
            "a.rs:18446744073709551615-18446744073709551614",
        ),
        ("bash", json!({"command": "a\n  b"}), "a b"),
        ("edit", json!({"path": "a", "edits": []}), "a"),
        ("write", json!({"path": "a", "content": "x"}), "a"),
        ("grep", json!({"pattern": "a<", "path": "b", "glob": "*.c"}), "/a&lt;/ in b (*.c)"),
        ("find", json!({"pattern": "*.rs"}), "*.rs"),
        ("ls", json!({}), "."),
        ("own", json!({"a": [1, 2]}), "{&quot;a&quot;:[1,2]}"),
        ("own", json!({}), ""),
        ("read", json!({"path": 7}), "{&quot;path&quot;:7}"),
        ("bash", json!({"command": "x".repeat(5000)}), &("x".repeat(160) + "…")),
    ];
    for (name, arguments, expected) in cases {
        let mut session = Session::in_memory("/proj");
        session.append_message(answer(vec![call("c", name, arguments.clone())])).unwrap();
        let page = body(&mut session);
        assert_eq!(between(&page, "<span class=\"what\">", "</span>"), expected, "{arguments}");
        assert!(page.contains("<span class=\"state\">no result</span>"), "{arguments}");
    }
    // Two calls in one answer, with results in reverse order.
    let mut session = Session::in_memory("/proj");
    let calls = vec![
        call("c1", "own", json!({})),
        AssistantBlock::text("between"),
        call("c2", "own", json!({})),
    ];
    session.append_message(answer(calls)).unwrap();
    session.append_message(result("c2", "own", "two")).unwrap();
    session.append_message(result("c1", "own", "one")).unwrap();
    session.append_message(result("c9", "own", "unrequested")).unwrap();
    let page = body(&mut session);
    let places: Vec<usize> = ["one", "between", "two", "unrequested"]
        .iter()
        .map(|text| page.find(&format!(">{text}<")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.matches("<article").count(), 1);
}

#[test]
fn a_call_with_two_results_on_branches_is_shown_with_each() {
    let mut session = Session::in_memory("/proj");
    let asked = session.append_message(answer(vec![call("c", "own", json!({}))])).unwrap();
    let one = session.append_message(result("c", "own", "one")).unwrap();
    session.branch(&asked).unwrap();
    let two = session.append_message(result("c", "own", "two")).unwrap();
    let page = body(&mut session);
    let article = |id: &str, hidden: &str| format!("id=\"{id}\"{hidden}><header>");
    assert!(page.contains(&article(&asked, "")) && page.contains(&article(&two, "")), "{page}");
    assert!(page.contains(&article(&one, " hidden")), "{page}");
    // Moving back to the question hides both.
    session.branch(&asked).unwrap();
    let page = body(&mut session);
    assert!(page.contains(&article(&one, " hidden")) && page.contains(&article(&two, " hidden")));
}

#[test]
fn every_kind_of_entry_is_shown_once_or_hidden() {
    let mut session = Session::in_memory("/the/place");
    session.append_model("anthropic", "claude").unwrap();
    session.append_thinking_level("high").unwrap();
    let question = session.append_message(Message::user("The <question>")).unwrap();
    let edit = call("c", "edit", json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}));
    session.append_message(answer(vec![AssistantBlock::thinking("a thought"), edit])).unwrap();
    let Message::ToolResult(mut edited) = result("c", "edit", "Successfully replaced") else {
        unreachable!()
    };
    std::sync::Arc::make_mut(&mut edited).details = Some(json!({"diff": "-1 x\n+1 y\n 2 z"}));
    let edited = session.append_message(Message::ToolResult(edited)).unwrap();
    session.append_custom("state", Some(json!("secret state"))).unwrap();
    session
        .append_custom_message(CustomEntryMessage {
            custom_type: "shown".to_owned(),
            content: MessageContent::Text("visible custom".to_owned()),
            display: true,
            details: None,
        })
        .unwrap();
    session
        .append_custom_message(CustomEntryMessage {
            custom_type: "hidden".to_owned(),
            content: MessageContent::Text("invisible custom".to_owned()),
            display: false,
            details: None,
        })
        .unwrap();
    session.append_label(&question, Some("a <label>")).unwrap();
    session.append_label(&edited, Some("another")).unwrap();
    let compaction = Compaction {
        summary: "the summary".into(),
        tokens_before: 61_234.0,
        ..Compaction::default()
    };
    session.append_compaction(compaction).unwrap();
    let images =
        vec![UserBlock::image(DOT, "image/png"), UserBlock::image("PHN2Zz4=", "image/svg+xml")];
    session.append_message(Message::user_blocks(images)).unwrap();
    let page = body(&mut session);
    for (text, times) in [
        ("<h1>The &lt;question&gt;</h1>", 1),
        ("/the/place", 1),
        ("Model: anthropic/claude", 1),
        ("Thinking: high", 1),
        ("<p>The &lt;question&gt;</p>", 1),
        ("a thought", 1),
        ("<span class=\"line del\">-1 x\n</span><span class=\"line add\">+1 y\n</span>", 1),
        ("Successfully replaced", 0),
        ("secret state", 0),
        ("visible custom", 1),
        ("invisible custom", 0),
        ("<span class=\"label\">a &lt;label&gt;</span>", 1),
        ("<span class=\"label\">another</span>", 1),
        ("the summary", 1),
        ("61.2k tokens before", 1),
        (&format!("src=\"data:image/png;base64,{DOT}\""), 1),
        ("Image not shown (image/svg+xml)", 1),
    ] {
        assert_eq!(page.matches(text).count(), times, "{text}");
    }
    let text = markdown(&session, &markdown_options());
    assert!(text.contains("**edit** `a`\n\n```diff\n-1 x\n+1 y\n 2 z\n```\n"), "{text}");
    assert!(!text.contains("Successfully") && !text.contains("invisible"), "{text}");
}

#[test]
fn a_turn_that_only_calls_tools_has_a_heading() {
    let mut session = Session::in_memory("/proj");
    session.append_message(Message::user("Go")).unwrap();
    let turn = |id: &str| answer(vec![call(id, "bash", json!({"command": id}))]);
    for id in ["c1", "c2"] {
        session.append_message(turn(id)).unwrap();
        session.append_message(result(id, "bash", "")).unwrap();
    }
    session.append_message(Message::user("More")).unwrap();
    session.append_message(turn("c3")).unwrap();
    let text = markdown(&session, &markdown_options());
    let expected = "## User\n\nGo\n\n## Assistant\n\n**bash** `c1`\n\n**bash** `c2`\n\n\
                    ## User\n\nMore\n\n## Assistant\n\n**bash** `c3`\n";
    assert!(text.ends_with(expected), "{text}");
    let text = markdown(&session, &markdown_options().tools(ToolDetail::None));
    assert!(!text.contains("Assistant"), "{text}");
}

#[test]
fn quoted_content_cannot_end_its_fence() {
    let mut session = Session::in_memory("/proj");
    session.append_message(Message::user("Fix *it*\n<!-- all\n```\n<!-- unclosed")).unwrap();
    let calls = vec![
        AssistantBlock::thinking("hm"),
        AssistantBlock::text("Sure."),
        call("c1", "bash", json!({"command": "echo `x`"})),
        call("c2", "own", json!({"a": 1})),
    ];
    session.append_message(answer(calls)).unwrap();
    let output = format!("\x1b[31m````\x1b[0m\n{}", "line\n".repeat(30));
    session.append_message(result("c1", "bash", &output)).unwrap();
    session.append_message(result("c2", "own", "two")).unwrap();
    session.append_message(answer(vec![AssistantBlock::text("Done.")])).unwrap();
    session.append_name("A [name]").unwrap();
    let text = markdown(&session, &markdown_options());
    let created = session.header().timestamp[..16].replace('T', " ");
    let lines = "line\n".repeat(19);
    let expected = format!(
        "# A \\[name\\]\n\n{created} UTC · `/proj` · claude · 5 messages\n\n\
         ## User\n\nFix *it*\n\\<!-- all\n```\n<!-- unclosed\n```\n\n\
         ## Assistant\n\nSure.\n\n**bash** `` echo `x` ``\n\n**own** `{{\"a\":1}}`\n\n\
         **bash** `` echo `x` ``:\n\n`````\n````\n{lines}… 11 more lines\n`````\n\n**own** `{{\"a\":1}}`:\n\n```\ntwo\n```\n\n\
         ## Assistant\n\nDone.\n"
    );
    assert_eq!(text, expected);
    let cases = [
        (ToolDetail::None, false, &["Sure.", "Done."][..], &["**bash**", "two", "hm"][..]),
        (ToolDetail::Line, true, &["**bash**", "> hm"], &["two"]),
        (ToolDetail::Lines(1), false, &["… 30 more lines"], &["hm"]),
        (ToolDetail::Full, false, &["\"a\": 1", &"line\n".repeat(30)], &["more lines"]),
    ];
    for (tools, thinking, there, not_there) in cases {
        let options = markdown_options().tools(tools).thinking(thinking);
        let text = markdown(&session, &options);
        assert!(there.iter().all(|part| text.contains(part)), "{tools:?}: {text}");
        assert!(!not_there.iter().any(|part| text.contains(part)), "{tools:?}: {text}");
    }
}

#[test]
fn an_exported_branch_is_a_session() {
    let lines = [
        r#"{"type":"session","version":3,"id":"the-id","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/proj","parentSession":"/elsewhere"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1.50e3,"own":"\u0041"}}"#,
        r#"{"type":"label","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","targetId":"a","label":"mark"}"#,
        r#"{"type":"new_kind","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","x":[1.0]}"#,
        r#"{"type":"message","id":"d","parentId":"b","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"user","content":"other branch","timestamp":2}}"#,
        r#"{"type":"compaction","id":"e","parentId":"c","timestamp":"2026-01-01T00:00:05.000Z","summary":"s","firstKeptEntryId":"b","tokensBefore":1}"#,
        r#"{"type":"message","id":"f","parentId":"e","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"user","content":"two","timestamp":3}}"#,
    ];
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("session.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n{\"torn").unwrap();
    let mut session = Session::open(&path, &OpenOptions::read()).unwrap();
    let mut exported = Vec::new();
    session.export_jsonl(&mut exported).unwrap();
    let text = String::from_utf8(exported).unwrap();
    let got: Vec<&str> = text.lines().collect();
    let header: Value = serde_json::from_str(got[0]).unwrap();
    assert_eq!(header["id"], "the-id");
    assert_eq!(header["cwd"], "/proj");
    assert!(header["timestamp"].as_str() > Some("2026-01-01") && header["parentSession"].is_null());
    assert_eq!(got[1], lines[1]);
    assert_eq!(got[2], lines[3].replace(r#""parentId":"b""#, r#""parentId":"a""#));
    assert_eq!(got[3], lines[5].replace(r#""firstKeptEntryId":"b""#, r#""firstKeptEntryId":"c""#));
    assert_eq!(got[4], lines[6]);
    let label: Value = serde_json::from_str(got[5]).unwrap();
    assert_eq!((&label["targetId"], &label["label"]), (&json!("a"), &json!("mark")));
    assert_eq!(label["parentId"], "f");
    assert_eq!(got.len(), 6);
    let copy = directory.path().join("copy.jsonl");
    std::fs::write(&copy, &text).unwrap();
    let mut copy = Session::open(&copy, &OpenOptions::append()).unwrap();
    assert_eq!(copy.context().unwrap(), session.context().unwrap());
    assert!(copy.damaged_lines().is_empty());
    assert_eq!(copy.label("a"), Some("mark"));
}

/// A writer that fails after this many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failed_write_is_an_error() {
    let mut session = Session::in_memory("/proj");
    session.append_message(Message::user("one")).unwrap();
    let html = html(&mut session).len();
    for room in [0, 100, html - 10] {
        let failed = session.export_html(&HtmlOptions::default(), &mut Full(room));
        assert!(matches!(failed, Err(SessionError::Io { .. })), "{room}: {failed:?}");
    }
    let failed = session.export_markdown(&MarkdownOptions::default(), &mut Full(10));
    assert!(matches!(failed, Err(SessionError::Io { .. })), "{failed:?}");
    let failed = session.export_atif("1", &mut Full(10));
    assert!(matches!(failed, Err(SessionError::Io { .. })), "{failed:?}");
    let failed = session.export_jsonl(&mut Full(10));
    assert!(matches!(failed, Err(SessionError::Io { .. })), "{failed:?}");
}

#[test]
fn damaged_lines_are_left_out_of_exports() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"before","timestamp":1}}"#,
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"","message":{"role":"user","content":"damaged"}],"x":1}"#,
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"","message":{"role":"user","content":"after","timestamp":1}}"#,
    ];
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("session.jsonl");
    std::fs::write(&path, lines.join("\n")).unwrap();
    let mut session = Session::open(&path, &OpenOptions::read()).unwrap();
    let text = markdown(&session, &markdown_options());
    let page = body(&mut session);
    let mut jsonl = Vec::new();
    session.export_jsonl(&mut jsonl).unwrap();
    let jsonl = String::from_utf8(jsonl).unwrap();
    for export in [&text, &page, &jsonl] {
        assert!(export.contains("before") && export.contains("after"), "{export}");
        assert!(!export.contains("damaged"), "{export}");
    }
    assert!(jsonl.contains(r#""id":"c","parentId":"a""#), "{jsonl}");
    // An empty session can be exported too.
    assert!(html(&mut Session::in_memory("/")).contains("<h1>Untitled session</h1>"));
}
