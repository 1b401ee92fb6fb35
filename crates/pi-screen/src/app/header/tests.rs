//! The header on screens of several widths.

use std::rc::Rc;

use pi_coding_agent::Severity;
use pi_coding_agent::session::SessionEvent;
use pi_tui::input::Keymap;
use pi_tui::input::defaults::Platform;
use pi_tui::{Block, Theme, View};

use super::resources::{Item, Kind, Loaded};
use super::{Expandable, Header, changelog, hints, notices};
use crate::keys;

fn rows(block: &mut dyn Block, width: usize) -> String {
    let theme = Theme::plain();
    let lines = block.render(View { width, rows: 24, theme: &theme });
    for line in lines.iter() {
        assert!(line.width() <= width, "{:?} is wider than {width}", line.text());
    }
    lines.iter().map(|line| line.text().trim_end().to_owned() + "\n").collect()
}

fn header(is_expanded: bool) -> Header {
    let keymap = Keymap::with_defaults(Platform::Unix, &[keys::DEFAULTS]);
    Header {
        scope: Some("Model scope: one:high, two (ctrl+p to cycle)".to_owned()),
        hints: hints::short(&keymap),
        all_hints: hints::all(&keymap),
        expand_key: "ctrl+o".to_owned(),
        has_wordmark: false,
        guard: None,
        cache: Expandable::new(&Rc::new(is_expanded.into())),
    }
}

#[test]
fn the_header_fits_every_width() {
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    let short = rows(&mut header(false), 80).replace(&version, "VERSION");
    insta::assert_snapshot!(short, @r"
    Model scope: one:high, two (ctrl+p to cycle)

     ▀▀█  VERSION
     █▀ █ escape interrupt · ctrl+c/ctrl+d clear/exit · / commands · ! bash
     ctrl+o shows all keys and what was loaded.

     /help shows commands, keys and topics; /hotkeys lists every key.
    ");
    let whole = rows(&mut header(true), 80);
    assert!(whole.lines().count() > 20, "{whole}");
    assert!(whole.contains("shift+tab changes the thinking level"), "{whole}");
    for width in [1, 2, 5, 10, 40] {
        rows(&mut header(true), width);
        rows(&mut header(false), width);
    }
}

#[test]
fn resources_are_listed_by_name_or_by_scope() {
    let item = |short: &str, long: &str, scope| Item {
        short: short.to_owned(),
        long: long.to_owned(),
        scope,
    };
    let kinds = || {
        vec![
            Kind { name: "Context", items: vec![item("AGENTS.md", "~/proj/AGENTS.md", None)] },
            Kind {
                name: "Skills",
                items: vec![
                    item("pdf", "~/.pi/agent/skills/pdf/SKILL.md", Some("user")),
                    item("own", "~/proj/.pi/skills/own/SKILL.md", Some("project")),
                ],
            },
        ]
    };
    let mut short = Loaded::new(kinds(), &Rc::new(false.into()));
    insta::assert_snapshot!(rows(&mut short, 60), @r"

    [Context]
      AGENTS.md

    [Skills]
      pdf, own
    ");
    let mut whole = Loaded::new(kinds(), &Rc::new(true.into()));
    insta::assert_snapshot!(rows(&mut whole, 60), @r"

    [Context]
      ~/proj/AGENTS.md

    [Skills]
      project
        ~/proj/.pi/skills/own/SKILL.md
      user
        ~/.pi/agent/skills/pdf/SKILL.md
    ");
}

#[test]
fn problems_with_files_are_under_their_heading_and_others_are_notices() {
    let problem = |path: Option<&str>, message: &str| SessionEvent::Diagnostic {
        severity: Severity::Warning,
        path: path.map(Into::into),
        message: message.to_owned(),
        hint: None,
    };
    let problems = [
        problem(Some("/home/me/skills/x/SKILL.md"), "the description is missing"),
        problem(Some("/home/me/prompts/a.md"), "another template has this name"),
        problem(Some("/home/me/skills/x/SKILL.md"), "the name is invalid"),
        problem(Some("/home/me/models.json"), "not JSON"),
        problem(None, "nothing about a file"),
    ];
    let mut warnings = notices::warnings(&problems, &[], Some("/home/me".as_ref()));
    insta::assert_snapshot!(rows(&mut warnings, 60), @r"
    [Skill warnings]
      ~/skills/x/SKILL.md
        the description is missing
        the name is invalid

    [Prompt warnings]
      ~/prompts/a.md
        another template has this name
    ");
    let others: Vec<String> = notices::others(&problems).into_iter().map(|it| it.1).collect();
    assert_eq!(others, ["/home/me/models.json: not JSON", "nothing about a file"]);
}

#[test]
fn news_are_the_versions_that_the_user_has_not_seen() {
    let text = "# Changelog\n\n## Unreleased\n\n- soon\n\n## [1.2.0] - 2026-01-01\n\n- new\n\n\
                ## 1.1.0\n\n- middle\n\n## 1.0.0\n\n- old\n";
    let news = |current, seen, is_collapsed| {
        let news = changelog::news_of(text, current, seen, is_collapsed)?;
        Some(rows(&mut *news.block(), 40))
    };
    let shown = news("1.2.0", "1.0.0", false).unwrap();
    assert!(shown.contains("new") && shown.contains("middle"), "{shown}");
    assert!(!shown.contains("old") && !shown.contains("soon"), "{shown}");
    assert!(!news("1.2.0", "1.0.0", true).unwrap().contains("middle"));
    assert_eq!(news("1.2.0", "1.2.0", false), None);
    assert_eq!(news("1.2.0", "2.0.0", false), None);
    assert_eq!(news("1.2.0", "what", false), None);
}
