//! Messages, summaries, commands of the user, notices. The layout is that of the recorded screens
//! `thinking-*`, `errors*`, `compact-*`, `shell-*`, `tree-navigated` and `ext-notify`.

use std::time::Instant;

use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::{BashError, BashResult};
use pi_protocol::{AgentMessage, MessageContent, UserBlock};
use pi_session::{BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage};

use super::super::Transcript;
use super::super::options::{Options, Shared};
use super::super::{assistant, stored, user};
use super::{drawn, options, screen};

/// Draws a message of a role that models do not know, collapsed and expanded.
fn custom<T: pi_protocol::CustomMessage>(message: &T) -> String {
    let content = stored::custom(&AgentMessage::custom(message).unwrap()).unwrap();
    let shared = Shared::new(options());
    let collapsed = drawn(60, &options(), |look| content.draw(look, &shared));
    let expanded = Options { expanded: true, ..options() };
    let whole = drawn(60, &expanded, |look| content.draw(look, &shared));
    if whole == collapsed { collapsed } else { format!("{collapsed}expanded\n{whole}") }
}

#[test]
fn messages_of_the_user() {
    let content = |text: &str| MessageContent::Text(text.to_owned());
    let skill = "<skill name=\"web\" location=\"/s/web/SKILL.md\">\nReferences are relative to /s/web.\n\nUse **curl**.\n</skill>";
    let image = MessageContent::Blocks(vec![
        UserBlock::text("look"),
        UserBlock::image("AAAA", "image/png"),
    ]);
    let mut shown = String::new();
    let cases = [
        content("Say *hi*:\n\n3. three\n7. seven"),
        content("a line that is too long for a narrow terminal of sixty columns, and goes on"),
        content(skill),
        content(&format!("{skill}\n\nand this")),
        content(" \n"),
        content("\u{1b}[31mred\u{1b}]0;title\u{7}"),
        image,
    ];
    for content in &cases {
        for is_first in [true, false] {
            shown.push_str(&format!("first: {is_first}\n"));
            shown.push_str(&drawn(60, &options(), |look| user::lines(content, is_first, look)));
        }
    }
    let expanded = Options { expanded: true, output_pad: 0, ..options() };
    shown.push_str(&drawn(60, &expanded, |look| user::lines(&cases[3], false, look)));
    insta::assert_snapshot!(shown);
}

#[test]
fn text_and_thinking() {
    let source = "First I look.\n\nThen I **decide**.\n";
    let hidden = Options { hide_thinking: true, ..options() };
    let labeled = Options { hidden_thinking_label: Some("Hm".to_owned()), ..hidden.clone() };
    let mut shown = drawn(40, &options(), |look| assistant::text("# One\n\ntwo\n", true, look));
    for options in [&options(), &hidden, &labeled] {
        shown.push_str(&drawn(40, options, |look| assistant::thinking(source, look)));
    }
    for blank in ["", " \n\n"] {
        shown.push_str(&drawn(40, &options(), |look| assistant::text(blank, true, look)));
        shown.push_str(&drawn(40, &hidden, |look| assistant::thinking(blank, look)));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn boxes_with_a_label() {
    let summary = "## Goal\n\nKeep the history short.\n".to_owned();
    let shown = [
        custom(&CompactionSummaryMessage {
            summary: summary.clone(),
            tokens_before: 12_345_678.0,
            timestamp: 0.0,
        }),
        custom(&BranchSummaryMessage { summary, ..BranchSummaryMessage::default() }),
        custom(&ExtensionMessage {
            custom_type: "note".to_owned(),
            content: MessageContent::Text("A **custom** message.".to_owned()),
            display: true,
            ..ExtensionMessage::default()
        }),
    ];
    insta::assert_snapshot!(shown.concat());
}

#[test]
fn commands_of_the_user() {
    let run = |command: &str, output: &str| BashExecution {
        command: command.to_owned(),
        output: output.to_owned(),
        exit_code: Some(0),
        ..BashExecution::default()
    };
    let numbers: String = (1..=30).map(|number| format!("{number}\n")).collect();
    let shown = [
        custom(&BashExecution { exit_code: Some(3), ..run("echo hi; exit 3", "hi\n") }),
        custom(&BashExecution { exclude_from_context: Some(true), ..run("echo no", "no\n") }),
        custom(&run("true", "")),
        custom(&run("seq 1 30", &numbers)),
        custom(&BashExecution { cancelled: true, exit_code: None, ..run("sleep 9", "begin") }),
        custom(&BashExecution {
            truncated: true,
            full_output_path: Some("/tmp/all.log".to_owned()),
            ..run("big", "end")
        }),
    ];
    insta::assert_snapshot!(shown.concat());
}

#[test]
fn a_command_of_the_user_runs_and_ends() {
    let mut transcript = Transcript::new(options());
    transcript.shell_started("1", "echo begin; sleep 9", false);
    let event = pi_coding_agent::session::SessionEvent::BashExecutionUpdate {
        id: Some("1".to_owned()),
        delta: "begin\n".to_owned(),
    };
    transcript.on_event(&event);
    let running = screen(&mut transcript, 40);
    assert!(running.contains("begin"), "{running}");
    assert!(running.contains("⠋ Running"), "{running}");
    let now = Instant::now();
    let next = transcript.next_tick(now).expect("the spinner moves");
    transcript.tick(next);
    assert!(!screen(&mut transcript, 40).contains("⠋"), "the spinner moved");
    let result = BashResult { output: "begin\nend".to_owned(), ..BashResult::default() };
    transcript.shell_ended("1", &Ok(result));
    assert_eq!(transcript.next_tick(now), None);
    let ended = screen(&mut transcript, 40);
    assert!(ended.contains("end") && !ended.contains("Running"), "{ended}");
    transcript.shell_started("2", "rm -rf /", true);
    transcript.shell_ended("2", &Err(BashError::Failed("a rule denies rm".to_owned())));
    let refused = screen(&mut transcript, 40);
    assert!(refused.contains("Error: a rule denies rm"), "{refused}");
}

#[test]
fn notices_and_status_lines() {
    let mut transcript = Transcript::new(options());
    transcript.status("first".to_owned());
    transcript.status("second".to_owned());
    transcript.notice(NotifyKind::Info, "for your information".to_owned(), None);
    transcript.status("third".to_owned());
    transcript.notice(NotifyKind::Warning, "careful\u{7}".to_owned(), None);
    let hint = Some("do this next".to_owned());
    transcript.notice(NotifyKind::Error, "it failed with a long text".to_owned(), hint);
    insta::assert_snapshot!(screen(&mut transcript, 24));
}
