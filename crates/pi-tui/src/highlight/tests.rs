//! Tests of highlighting.

use super::{ALIASES, Readiness, find, generation, highlight, prepare};
use crate::theme::Token;

fn tokens(code: &str, language: &str) -> String {
    let lines = highlight(code, language).unwrap();
    let span = |(token, text): &(Option<Token>, String)| match token {
        Some(token) => format!("<{}:{text}>", token.name().trim_start_matches("syntax")),
        None => text.clone(),
    };
    lines
        .iter()
        .map(|line| line.iter().map(span).collect::<String>())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn aliases_are_sorted_and_name_grammars() {
    assert!(ALIASES.is_sorted());
    for (alias, _) in ALIASES {
        assert!(find(alias).is_some(), "{alias}");
    }
    for name in ["rust", "rs", "python", "py", "JavaScript", "bash", "go", "c", "cpp", "html"] {
        assert!(find(name).is_some(), "{name}");
    }
    assert!(find("no such language").is_none());
    assert!(find("text").is_none());
}

#[test]
fn code_has_the_tokens_of_the_theme() {
    insta::assert_snapshot!(tokens(
        "# comment\ndef add(a: int, b: int = 2) -> int:\n    return a + b * 3.5 and not 'x'\nclass A(B):\n    print(a)",
        "python"
    ));
    insta::assert_snapshot!(tokens(
        "pub fn f(x: &str) -> Option<usize> {\n    let n = x.len(); // count\n    if n > 0 { Some(n) } else { None }\n}",
        "rust"
    ));
    insta::assert_snapshot!(tokens("-old\n+new\n same\n@@ -1 +1 @@", "diff"));
    insta::assert_snapshot!(tokens("const f = (a: string): void => console.log(`x ${a}`)", "ts"));
    insta::assert_snapshot!(tokens("{\"a\": [1, true, null, \"b\"]}", "json"));
}

#[test]
fn long_code_stays_plain() {
    let line = format!("let x = {};", "1 + ".repeat(1000));
    assert_eq!(highlight(&line, "rust").unwrap(), [[(None, line)]]);
    let code = "let x = 1;\n".repeat(40_000);
    let lines = highlight(&code, "rust").unwrap();
    assert_eq!(lines.len(), 40_000);
    assert_eq!(lines[39_999], [(None, "let x = 1;".to_owned())]);
}

#[test]
fn a_thread_prepares_grammars() {
    let before = generation();
    assert_eq!(prepare("", ""), Readiness::Unknown);
    let (sender, receiver) = std::sync::mpsc::channel();
    super::on_ready(move || sender.send(()).unwrap_or_default());
    assert_eq!(prepare("lua", "local x = 1"), Readiness::Loading);
    receiver.recv().unwrap();
    assert!(generation() > before);
    assert_eq!(prepare("lua", ""), Readiness::Ready);
}
