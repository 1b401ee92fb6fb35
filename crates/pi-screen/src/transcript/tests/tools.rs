//! Each tool in each state, at 80 and 40 columns. The layout is that of the recorded screens
//! `tool-*` of pi 1.5.0; `P`, `S` and `E` are the backgrounds of pending, successful and failed
//! calls.

use pi_protocol::UserBlock;
use pi_tui::{Theme, Token, View};
use serde_json::{Value, json};

use super::super::foreign::Foreign;
use super::super::options::{ImageLimits, Look, Options};
use super::super::tool::{Call, Output, Progress, Time, render};
use super::{drawn, options};

/// A call for a test.
struct Case {
    name: &'static str,
    arguments: Value,
    content: Vec<UserBlock>,
    details: Option<Value>,
    progress: Progress,
    time: Option<Time>,
    preview: Option<&'static str>,
    is_known: bool,
    is_streaming: bool,
}

fn case(name: &'static str, arguments: Value) -> Case {
    Case {
        name,
        arguments,
        content: Vec::new(),
        details: None,
        progress: Progress::Success,
        time: None,
        preview: None,
        is_known: true,
        is_streaming: false,
    }
}

impl Case {
    fn text(mut self, text: &str) -> Self {
        self.content.push(UserBlock::text(text));
        self
    }

    fn failed(mut self, text: &str) -> Self {
        self.progress = Progress::Error;
        self.text(text)
    }

    fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    fn pending(mut self) -> Self {
        self.progress = Progress::Pending;
        self
    }

    fn time(mut self, time: Time) -> Self {
        self.time = Some(time);
        self
    }

    fn call(&self) -> Call<'_> {
        let has_output = !self.content.is_empty();
        Call {
            id: "call",
            has_begun: true,
            name: self.name,
            arguments: self.arguments.as_object().unwrap(),
            is_streaming: self.is_streaming,
            output: has_output
                .then_some(Output { content: &self.content, details: self.details.as_ref() }),
            progress: self.progress,
            time: self.time,
            preview: self.preview,
            is_interrupted: false,
            is_known: self.is_known,
        }
    }

    /// Returns the call collapsed and expanded, at two widths.
    fn shown(&self) -> String {
        let expanded = Options { expanded: true, ..options() };
        let mut text = String::new();
        for width in [80, 40] {
            let collapsed = drawn(width, &options(), |look| render(&self.call(), look));
            let whole = drawn(width, &expanded, |look| render(&self.call(), look));
            text.push_str(&format!("{width} columns\n{collapsed}"));
            if whole != collapsed {
                text.push_str(&format!("{width} columns, expanded\n{whole}"));
            }
        }
        text
    }
}

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

/// Draws cases, one after the other.
fn all(cases: &[Case]) -> String {
    cases.iter().map(|case| case.shown() + "\n").collect()
}

#[test]
fn bash() {
    let command = "for i in $(seq 1 12); do echo line $i; done";
    let truncation = json!({
        "truncated": true, "truncatedBy": "lines", "totalLines": 3000, "outputLines": 2000,
        "maxBytes": 51200,
    });
    let shown = all(&[
        case("bash", json!({})).pending(),
        case("bash", json!({ "command": "echo begin; sleep 4; echo end", "timeout": 30 }))
            .pending()
            .text("begin\n")
            .time(Time::Elapsed(0.0)),
        case("bash", json!({ "command": command })).text(&numbered(12)).time(Time::Took(0.12)),
        case("bash", json!({ "command": "echo oops >&2; exit 3" }))
            .failed("oops\n\n\nCommand exited with code 3")
            .time(Time::Took(90.4)),
        case("bash", json!({ "command": "seq 1 3000" }))
            .text("2995\n2996\n2997\n2998\n2999\n3000\n\n[Showing lines 1001-3000 of 3000. Full output: /tmp/x.log]")
            .details(json!({ "truncation": truncation, "fullOutputPath": "/tmp/pi-bash-abfab19532def2fd.log" })),
        case("bash", json!({ "command": "printf 'a\\nb'\nls" }))
            .text("\u{1b}[31mred\u{1b}[0m\tafter\r\n\u{1b}]0;title\u{7}end"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn read() {
    let path = "/home/user/proj/main.py";
    let shown = all(&[
        case("read", json!({})).pending(),
        case("read", json!({ "path": "notes" })).text("one\ntwo\n"),
        case("read", json!({ "path": path, "offset": 3, "limit": 2 })).text("three\nfour"),
        case("read", json!({ "path": "AGENTS.md" })).text("# Rules"),
        case("read", json!({ "path": "/home/user/.pi/agent/skills/web/SKILL.md" })).text("# Web"),
        case("read", json!({ "path": "missing" }))
            .failed("ENOENT: no such file or directory, access '/home/user/proj/missing'"),
        Case {
            content: vec![
                UserBlock::text("Read image file [image/png]"),
                UserBlock::image("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "image/png"),
            ],
            ..case("read", json!({ "path": "dot.png" }))
        },
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn write() {
    let content: String = (1..=14).map(|number| format!("# {number}\n")).collect();
    let shown = all(&[
        case("write", json!({ "path": "out/new" })).pending(),
        Case {
            is_streaming: true,
            ..case("write", json!({ "path": "long", "content": numbered(70) })).pending()
        },
        case("write", json!({ "path": "out/new", "content": content }))
            .text("Successfully wrote to out/new"),
        case("write", json!({ "path": "a.txt/y", "content": "no\n" }))
            .failed("EEXIST: file already exists, mkdir '/home/user/proj/a.txt'"),
    ]);
    insta::assert_snapshot!(shown);
}

const DIFF: &str = " 1 import os\n 2 \n-5     return a + b\n+5     return a + b + 0\n 6 \n   ...";

#[test]
fn edit() {
    let arguments = json!({ "path": "main.py", "edits": [] });
    let shown = all(&[
        case("edit", json!({ "path": "main.py" })).pending(),
        Case { preview: Some(DIFF), ..case("edit", arguments.clone()).pending() },
        case("edit", arguments.clone()).text("done").details(json!({ "diff": DIFF })),
        Case { preview: Some(DIFF), ..case("edit", arguments) }.failed(
            "Could not find the exact text in a.txt. The old text must match exactly including all whitespace and newlines."
        ),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn searches() {
    let limited = json!({ "matchLimitReached": 100, "linesTruncated": true });
    let shown = all(&[
        case("grep", json!({ "pattern": "line", "glob": "*.txt" }))
            .text("a.txt:1: line one\na.txt:2: line two"),
        case("grep", json!({ "pattern": "x", "path": "src", "limit": 100 }))
            .text(&format!("{}\n\n[100 matches limit reached]", numbered(17).trim_end()))
            .details(limited),
        case("find", json!({ "pattern": "*.md" })).text("docs/guide.md\nsrc/deep/notes.md"),
        case("ls", json!({ "path": "src" })).text("deep/\nlib.rs"),
        case("ls", json!({})).text(&numbered(22)),
        case("ls", json!({ "path": "nowhere" })).failed("Path not found: /home/user/proj/nowhere"),
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn other_tools() {
    let long = "word ".repeat(40);
    let shown = all(&[
        Case { is_known: false, ..case("nope", json!({ "a": 1, "b": "two" })) }
            .failed("Tool nope not found"),
        case("weather", json!({ "city": "Oslo", "days": 3, "note": long })).text(&numbered(12)),
        case("ping", json!({})).pending(),
    ]);
    insta::assert_snapshot!(shown);
}

/// A terminal with images shows them below the box, in their own proportions.
#[test]
fn images() {
    let data = "iVBORw0KGgoAAAANSUhEUgAAASwAAADICAYAAABS39xV";
    let case = Case {
        content: vec![UserBlock::image(data, "image/png"), UserBlock::image("AA==", "image/webp")],
        ..case("read", json!({ "path": "big.png" }))
    };
    let limits = ImageLimits { cell: (10, 20), columns: 20 };
    let options = Options { images: Some(limits), expanded: true, ..options() };
    let theme = Theme::dark();
    let view = View { width: 40, rows: 24, theme: &theme };
    let lines = render(
        &case.call(),
        Look { view, options: &options, foreign: &Foreign::default(), toggled: false },
    );
    let at = lines.iter().position(|line| line.image.is_some()).expect("an image");
    let image = lines[at].image.as_ref().unwrap();
    assert_eq!((image.columns, image.rows), (20, 7));
    assert_eq!(lines.len(), at + 7);
    let text: String = lines.iter().map(|line| line.text()).collect();
    assert!(text.contains("[Image: [image/webp]]") && !text.contains("image/png"), "{text}");
}

/// Arguments of the wrong type, as models send them, are shown and do no harm.
#[test]
fn wrong_arguments() {
    let odd = json!({
        "command": 5, "timeout": "soon", "path": ["a"], "content": { "a": 1 }, "pattern": null,
        "edits": "x", "offset": -3, "limit": 1e300, "glob": false,
    });
    for name in ["bash", "read", "write", "edit", "grep", "find", "ls", "other"] {
        for width in [0, 1, 2, 3, 7, 80] {
            let case = case(name, odd.clone()).text("\u{1b}[");
            drawn(width, &options(), |look| render(&case.call(), look));
        }
    }
}

#[test]
fn colors() {
    let theme = Theme::dark();
    let options = options();
    let view = View { width: 80, rows: 24, theme: &theme };
    let style = |case: &Case, part: &str| {
        let lines = render(
            &case.call(),
            Look { view, options: &options, foreign: &Foreign::default(), toggled: false },
        );
        let mut spans = lines.iter().flat_map(|line| line.spans());
        let span = spans.find(|span| span.text.contains(part)).unwrap_or_else(|| panic!("{part}"));
        span.style
    };
    let on = |token: Token, background: Token| theme.fg(token).on(theme.bg(background));
    let read = case("read", json!({ "path": "a", "offset": 3 })).failed("bad");
    let (error, success) = (Token::ToolErrorBg, Token::ToolSuccessBg);
    assert_eq!(style(&read, "read"), on(Token::ToolTitle, error).bold());
    assert_eq!(style(&read, "a"), on(Token::ToolTitle, error).bold());
    assert_eq!(style(&read, ":3"), on(Token::Warning, error));
    assert_eq!(style(&read, "bad"), on(Token::ToolOutput, error));
    let edit = case("edit", json!({ "path": "p" })).text("x").details(json!({ "diff": DIFF }));
    assert_eq!(style(&edit, "import os"), on(Token::ToolDiffContext, success));
    assert_eq!(style(&edit, "-5"), on(Token::ToolDiffRemoved, success));
    assert_eq!(style(&edit, "+5"), on(Token::ToolDiffAdded, success));
    assert_eq!(style(&edit, "+ 0"), on(Token::ToolDiffAdded, success).inverse());
    let bash = case("bash", json!({ "command": "c" })).text(&numbered(9));
    assert_eq!(style(&bash, "earlier"), on(Token::Muted, success));
    assert_eq!(style(&bash, "ctrl+o"), on(Token::Dim, success));
}
