//! A session with a scripted model: its live transcript is the one that its log gives.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use pi_ai::faux::{Faux, Reply};
use pi_coding_agent::session::{
    AgentSession, BashOptions, PromptOptions, SessionEvent, SessionParts,
};
use pi_protocol::{Message, StopReason};
use pi_session::{CACHE_MISS_ENTRY, CacheMiss, ExtensionMessage, MissReason, NewSession, Session};
use pi_tools::{BashSettings, Host, Workspace, toolset};
use pi_tui::Block;
use serde_json::json;

use super::super::Transcript;
use super::{lines, load_grammars, options, screen};

/// A session in a temporary directory, and its events.
struct TestSession {
    model: Faux,
    session: AgentSession,
    events: Arc<Mutex<Vec<SessionEvent>>>,
    transcript: Transcript,
    directory: tempfile::TempDir,
}

impl TestSession {
    fn new() -> Self {
        load_grammars();
        let directory = tempfile::tempdir().unwrap();
        let model = Faux::new();
        let new = NewSession::new(directory.path()).directory(directory.path().join("sessions"));
        let mut bash = BashSettings::default();
        bash.environment.insert("PATH".into(), std::env::var_os("PATH").unwrap());
        let host = Arc::new(Host::default());
        let workspace = Workspace::new(host, directory.path().to_owned(), None);
        let workspace = Arc::new(workspace.with_bash(bash));
        let mut parts = SessionParts::new(
            Arc::new(model.clone()),
            Some(Arc::new(Faux::model())),
            Session::create(new).unwrap(),
            Arc::clone(&workspace),
        );
        parts.tools = toolset::all(&workspace);
        parts.active_tools = parts.tools.iter().map(|t| t.declaration().name.clone()).collect();
        parts.settings.retry.base_delay_ms = 1;
        let session = AgentSession::new(parts).unwrap();
        let events: Arc<Mutex<Vec<SessionEvent>>> = Arc::default();
        let received = Arc::clone(&events);
        session.subscribe(move |event| received.lock().unwrap().push(event.clone())).forever();
        let mut transcript = Transcript::new(options());
        transcript.rebuild(&session, Vec::new());
        Self { model, session, events, transcript, directory }
    }

    /// Sends a prompt, waits for the end of the run, and shows what happened.
    async fn prompt(&mut self, text: &str) {
        self.session.prompt(text, PromptOptions::default()).await.unwrap();
        self.session.wait_for_idle().await;
        self.apply();
    }

    /// Shows the events so far.
    fn apply(&mut self) {
        for event in self.events.lock().unwrap().drain(..) {
            self.transcript.on_event(&event);
        }
    }

    /// Checks that the log gives the same lines, expanded or not, at some widths.
    fn check(&mut self) {
        let mut stored = Transcript::new(options());
        stored.rebuild(&self.session, Vec::new());
        for expanded in [false, true] {
            self.transcript.set_expanded(expanded);
            stored.set_expanded(expanded);
            for hide in [true, false] {
                self.transcript.set_hide_thinking(hide);
                stored.set_hide_thinking(hide);
                for width in [80, 40, 7] {
                    let live = screen(&mut self.transcript, width);
                    similar(&live, &screen(&mut stored, width));
                    assert_eq!(lines(&mut self.transcript, width), lines(&mut stored, width));
                }
            }
        }
        self.transcript.set_expanded(false);
    }
}

/// Fails with a readable message if two screens differ.
fn similar(live: &str, stored: &str) {
    if live != stored {
        panic!("live:\n{live}\nstored:\n{stored}");
    }
}

#[tokio::test]
async fn the_log_looks_like_the_live_session() {
    let mut test = TestSession::new();
    std::fs::write(test.directory.path().join("f"), "one\ntwo\nthree\n").unwrap();
    let edits = json!([{ "oldText": "two", "newText": "2" }]);
    let replies = [
        Reply::new()
            .thinking("First.\n\nThen *this*.")
            .text("Let me look.\n\n```rust\nfn main() {}\n```\n\n1. a\n2. b\n")
            .tool_call("read", &json!({ "path": "f" }))
            .tool_call("bash", &json!({ "command": "seq 1 12; exit 3" }))
            .chunks_of(3),
        Reply::new()
            .tool_call("edit", &json!({ "path": "f", "edits": edits }))
            .tool_call("write", &json!({ "path": "g", "content": "new\n".repeat(14) }))
            .tool_call("nope", &json!({ "a": [1, 2] }))
            .chunks_of(5),
        Reply::new().text("# Done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n").chunks_of(1),
    ];
    replies.into_iter().for_each(|reply| test.model.push(reply));
    test.prompt("Do *all* of it").await;
    test.check();
    test.model.push(Reply::new().text("cut").stop_reason(StopReason::Length));
    test.prompt("again").await;
    test.model.push(Reply::new().text("half").fail("400: {\"message\":\"bad\"}"));
    test.prompt("fail").await;
    test.check();
    let shown = screen(&mut test.transcript, 80);
    assert!(shown.contains("Error: faux"), "{shown}");
    assert!(shown.contains("output limit"), "{shown}");
    assert_eq!(shown.matches("read f\n").count(), 1, "{shown}");
}

#[tokio::test]
async fn failed_attempts_go_away_when_the_retry_answers() {
    let mut test = TestSession::new();
    for _ in 0..2 {
        test.model.push(Reply::new().text("half").fail("503: {\"message\":\"unavailable\"}"));
    }
    test.model.push(Reply::new().text("Now it works."));
    test.prompt("try").await;
    let shown = screen(&mut test.transcript, 80);
    assert!(shown.contains("Now it works."), "{shown}");
    assert!(!shown.contains("503") && !shown.contains("half"), "{shown}");
    test.check();
    for _ in 0..4 {
        test.model.push(Reply::new().fail("503: {\"message\":\"unavailable\"}"));
    }
    test.prompt("try").await;
    let shown = screen(&mut test.transcript, 80);
    assert_eq!(shown.matches("503").count(), 1, "{shown}");
    assert!(shown.contains("Gave up after 3 retries"), "{shown}");
}

#[tokio::test]
async fn an_abort_is_told_once() {
    let mut test = TestSession::new();
    let command = json!({ "command": "echo started; sleep 20" });
    test.model.push(Reply::new().tool_call("bash", &command));
    test.model.push(Reply::new().text("too late"));
    let session = test.session.clone();
    let run = tokio::spawn(async move {
        session.prompt("slow", PromptOptions::default()).await.unwrap();
    });
    loop {
        test.apply();
        if screen(&mut test.transcript, 80).contains("started\n") {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(test.transcript.next_tick(std::time::Instant::now()).is_some());
    test.session.abort().await;
    run.await.unwrap();
    test.session.wait_for_idle().await;
    test.apply();
    let shown = screen(&mut test.transcript, 80);
    assert_eq!(shown.matches("aborted").count(), 1, "{shown}");
    assert!(test.transcript.next_tick(std::time::Instant::now()).is_none());
    test.check();
}

#[tokio::test]
async fn commands_and_messages_of_extensions_are_in_the_log() {
    let mut test = TestSession::new();
    test.transcript.shell_started("1", "echo hi; exit 3", false);
    let options = BashOptions::default().id(Some("1".to_owned()));
    let result = test.session.execute_bash("echo hi; exit 3", options).await;
    test.apply();
    test.transcript.shell_ended("1", &result);
    test.check();
    let message = ExtensionMessage {
        custom_type: "note".to_owned(),
        content: pi_protocol::MessageContent::Text("A **note**".to_owned()),
        display: true,
        ..ExtensionMessage::default()
    };
    test.session.with_log(|log| {
        log.append_message(pi_protocol::AgentMessage::custom(&message).unwrap()).unwrap()
    });
    let event =
        SessionEvent::MessageEnd { message: pi_protocol::AgentMessage::custom(&message).unwrap() };
    test.transcript.on_event(&event);
    test.check();
}

#[tokio::test]
async fn misses_of_the_cache_are_shown_if_the_user_wants_it() {
    let mut test = TestSession::new();
    let miss = CacheMiss::new(MissReason::ModelChanged, 5000, 0.025, 0.0);
    let entry = test.session.with_log(|log| {
        let id = log.append_custom(CACHE_MISS_ENTRY, serde_json::to_value(&miss).ok()).unwrap();
        log.entry(&id).unwrap()
    });
    test.transcript.on_event(&SessionEvent::EntryAppended { entry: entry.into() });
    assert_eq!(screen(&mut test.transcript, 80), "");
    test.transcript.change_options(|options| options.cache_misses = true);
    let shown = screen(&mut test.transcript, 80);
    let notice = "5000 tokens were not read from the prompt cache ($0.0250): the model changed";
    assert!(shown.contains(notice), "{shown}");
    test.transcript.rebuild(&test.session, Vec::new());
    assert_eq!(screen(&mut test.transcript, 80), shown);
    test.transcript.change_options(|options| options.cache_misses = false);
    assert_eq!(screen(&mut test.transcript, 80), "");
}

#[tokio::test]
async fn a_page_that_is_built_anew_keeps_what_runs() {
    let mut test = TestSession::new();
    test.model
        .push(Reply::new().tool_call("bash", &json!({ "command": "echo started; sleep 20" })));
    let session = test.session.clone();
    let run = tokio::spawn(async move {
        session.prompt("slow", PromptOptions::default()).await.unwrap();
    });
    while !screen(&mut test.transcript, 80).contains("started\n") {
        tokio::task::yield_now().await;
        test.apply();
    }
    let before = screen(&mut test.transcript, 80);
    test.transcript.rebuild(&test.session, Vec::new());
    assert_eq!(screen(&mut test.transcript, 80), before);
    test.session.abort().await;
    run.await.unwrap();
    test.session.wait_for_idle().await;
    test.apply();
    test.check();
}

#[tokio::test]
async fn a_compaction_follows_what_it_kept() {
    let test = TestSession::new();
    let compacted = test.session.with_log(|log| {
        let old = log.append_message(Message::user("old")).unwrap();
        let kept = log.append_message(Message::user("kept")).unwrap();
        let compaction = pi_protocol::Compaction {
            summary: "# Goal".to_owned(),
            first_kept_entry_id: kept,
            tokens_before: 1290.0,
            ..pi_protocol::Compaction::default()
        };
        log.append_compaction(compaction).unwrap();
        log.append_message(Message::user("new")).unwrap();
        old
    });
    assert!(!compacted.is_empty());
    let mut transcript = Transcript::new(options());
    transcript.rebuild(&test.session, Vec::new());
    insta::assert_snapshot!(screen(&mut transcript, 50));
}

#[tokio::test]
async fn a_click_turns_one_part_around() {
    let mut test = TestSession::new();
    let command = json!({ "command": "seq 1 12" });
    test.model
        .push(Reply::new().thinking("Hm.").tool_call("bash", &command).tool_call("bash", &command));
    test.model.push(Reply::new().text("Done."));
    test.prompt("go").await;
    let mut stored = Transcript::new(options());
    stored.rebuild(&test.session, Vec::new());
    for transcript in [&mut test.transcript, &mut stored] {
        let before = screen(transcript, 40);
        assert_eq!(before.matches("earlier lines").count(), 2, "{before}");
        let row = before.lines().position(|line| line.contains("earlier")).unwrap();
        let (id, line) = transcript.blocks().at_row(row).unwrap();
        transcript.toggle(id, line);
        let after = screen(transcript, 40);
        assert_eq!(after.matches("earlier lines").count(), 1, "{after}");
        transcript.toggle(id, line);
        assert_eq!(screen(transcript, 40), before);
        let row = before.lines().position(|line| line.contains("Hm.")).unwrap();
        let (id, line) = transcript.blocks().at_row(row).unwrap();
        transcript.toggle(id, line);
        assert!(screen(transcript, 40).contains("Thinking..."));
        transcript.set_expanded(false);
        assert_eq!(screen(transcript, 40), before);
    }
}

/// A long log is listed, not read: only what is on the screen is parsed.
#[tokio::test]
async fn a_long_log_is_read_where_it_is_visible() {
    let test = TestSession::new();
    test.session.with_log(|log| {
        for number in 0..2000 {
            log.append_message(Message::user(format!("prompt {number}"))).unwrap();
        }
    });
    let mut transcript = Transcript::new(options());
    struct Header;
    impl Block for Header {
        fn render(&mut self, _view: pi_tui::View<'_>) -> pi_tui::Lines {
            [pi_tui::Line::plain("header"), pi_tui::Line::new()].into()
        }
    }
    transcript.rebuild(&test.session, vec![Box::new(Header)]);
    let theme = pi_tui::Theme::dark();
    let view = pi_tui::View { width: 40, rows: 24, theme: &theme };
    let last = transcript.blocks().last().unwrap();
    let shown = transcript.blocks().lines(last, view);
    assert!(shown.iter().any(|line| line.text().contains("prompt 1999")));
    assert_eq!(transcript.entries_read(), 1);
    assert_eq!(transcript.prompts().len(), 100);
    let mut all = String::new();
    for line in lines(&mut transcript, 40) {
        writeln!(all, "{}", line.text()).unwrap();
    }
    assert!(all.starts_with("header\n\n"), "{all}");
    assert!(all.contains("prompt 0") && all.contains("prompt 1999"));
}
