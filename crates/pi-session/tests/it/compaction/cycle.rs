//! Repeated compaction of a session: the entries of the file, and the context of the model.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pi_ai::faux::{Faux, Reply};
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, Compaction, Message, StopReason, ToolCall,
    UserBlock,
};
use pi_session::compaction::{
    CompactionError, CompactionPreparation, CompactionSettings, FileLists, Summarizer, prepare,
    projected_tokens,
};
use pi_session::{OpenOptions, Session, project};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::{cases, path};
use crate::effects::resolver;

const SETTINGS: CompactionSettings =
    CompactionSettings { enabled: true, reserve_tokens: 100, keep_recent_tokens: 30 };

/// Appends a turn of a request, a call, its result and an answer, with about 20 tokens.
fn turn(session: &mut Session, number: usize) {
    let answer = |content, stop_reason| {
        let message = AssistantMessage { content, stop_reason, ..AssistantMessage::default() };
        Message::Assistant(message.into())
    };
    let path = format!("/file{number}");
    let call = ToolCall {
        id: format!("c{number}"),
        name: if number.is_multiple_of(2) { "read" } else { "edit" }.to_owned(),
        arguments: [("path".to_owned(), path.into())].into_iter().collect(),
        ..ToolCall::default()
    };
    session.append_message(Message::user(format!("request number {number}"))).unwrap();
    let block = AssistantBlock::ToolCall(call.clone());
    session.append_message(answer(vec![block], StopReason::ToolUse)).unwrap();
    let result = Message::tool_result(&call, vec![UserBlock::text("the result")], false);
    session.append_message(result).unwrap();
    let text = AssistantBlock::text(format!("answer number {number}"));
    session.append_message(answer(vec![text], StopReason::Stop)).unwrap();
}

async fn compact(session: &mut Session, faux: &Faux) -> Option<(CompactionPreparation, FileLists)> {
    let prepared = prepare(&session.projection().unwrap(), &SETTINGS, &resolver())?;
    let summarizer = Summarizer::new(faux, Arc::new(Faux::model()));
    let summary = summarizer.summarize(&prepared, None).await.unwrap();
    let lists = prepared.file_ops.lists();
    let compaction = Compaction {
        summary: summary.text + &lists.to_tags(),
        first_kept_entry_id: prepared.first_kept.clone(),
        tokens_before: prepared.tokens_before as f64,
        details: Some(serde_json::to_value(&lists).unwrap()),
        usage: Some(summary.usage),
        from_hook: Some(false),
        system_message: None,
    };
    session.append_compaction(compaction).unwrap();
    Some((prepared, lists))
}

fn roles(session: &mut Session) -> Vec<String> {
    let context = session.context().unwrap();
    context.messages.iter().map(|message| message.role().to_owned()).collect()
}

#[tokio::test]
async fn a_session_can_be_compacted_repeatedly() {
    let faux = Faux::responding(|_| Reply::new().text("A summary."));
    let mut session = Session::in_memory("/proj");
    session.append_message(Message::system("Be brief.")).unwrap();
    let mut number = 0;
    let mut lists = FileLists::default();
    for round in 0..5 {
        for _ in 0..6 {
            turn(&mut session, number);
            number += 1;
        }
        if round == 2 {
            // The parent of the next compaction is an entry that no later context contains.
            session.append_message(Message::system("Be briefer.")).unwrap();
        }
        let before = session.projection().unwrap();
        let asked = faux.requests().len();
        let (prepared, files) = compact(&mut session, &faux).await.unwrap();
        assert_eq!(prepared.previous_summary.is_some(), round > 0);
        assert!(prepared.turn_prefix.is_empty() != prepared.is_split_turn);
        // The previous summary is updated by the model, or kept unchanged.
        let first = format!("{:?}", faux.requests()[asked].context.messages);
        let carried = first.contains("<previous-summary>\\nA summary.");
        assert_eq!(carried, round > 0 && !prepared.to_summarize.is_empty(), "{first}");
        // No message is lost or repeated.
        let parts = [&prepared.to_summarize, &prepared.turn_prefix, &prepared.kept];
        let skipped = usize::from(round > 0);
        let all: Vec<&AgentMessage> = before[skipped..]
            .iter()
            .flat_map(|projected| &projected.messages)
            .filter(|message| message.role() != "system")
            .collect();
        assert!(parts.into_iter().flatten().eq(all.iter().copied()), "round {round}");
        // The lists contain the files of all rounds.
        assert!(files.modified.len() > lists.modified.len());
        assert!(lists.read.iter().all(|path| files.read.contains(path)));
        lists = files;
        let roles = roles(&mut session);
        assert_eq!(roles[..2], ["system", "compactionSummary"]);
        assert_ne!(roles[2], "toolResult");
        assert_eq!(roles.len(), 2 + prepared.kept.len());
        let after = projected_tokens(&session.projection().unwrap()).tokens;
        assert!(after < prepared.tokens_before, "{after} of {}", prepared.tokens_before);
        // A session that was just compacted cannot be compacted again.
        let none = CompactionSettings { keep_recent_tokens: 0, ..SETTINGS };
        assert_eq!(
            prepare(&session.projection().unwrap(), &none, &resolver()),
            None,
            "round {round}"
        );
        session.append_label(&prepared.first_kept, Some("here")).unwrap();
    }
}

#[test]
fn an_entry_without_an_id_cannot_be_the_first_kept_entry() {
    let mut entries = path(&json!([["user", 400], ["assistant", 4], ["user", 400]]));
    assert!(prepare(&project(entries.clone()), &SETTINGS, &resolver()).is_some());
    entries[2].id.clear();
    assert_eq!(prepare(&project(entries), &SETTINGS, &resolver()), None);
}

#[test]
fn abandoned_entries_equal_the_recorded_ones() {
    let directory = TempDir::new().unwrap();
    for (number, case) in cases("left_behind.json").iter().enumerate() {
        let file = directory.path().join(format!("{number}.jsonl"));
        write_tree(&file, case["parents"].as_array().unwrap());
        let mut session = Session::open(&file, &OpenOptions::read()).unwrap();
        match case["from"].as_u64() {
            Some(from) => session.branch(&format!("e{from}")).unwrap(),
            None => session.reset(),
        }
        let left = session.abandoned_entries(Some(&format!("e{}", case["to"]))).unwrap();
        let left: Vec<String> = left.into_iter().map(|entry| entry.id).collect();
        assert_eq!(json!(left), case["left"], "{case}");
    }
}

fn write_tree(file: &Path, parents: &[Value]) {
    let time = "2026-01-01T00:00:00.000Z";
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": time, "cwd": "/"});
    let mut lines = vec![header];
    for (index, parent) in parents.iter().enumerate() {
        let parent = parent.as_u64().map(|parent| format!("e{parent}"));
        lines.push(json!({
            "type": "message", "id": format!("e{index}"), "parentId": parent, "timestamp": time,
            "message": {"role": "user", "content": "x", "timestamp": 1},
        }));
    }
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(file, lines.join("\n") + "\n").unwrap();
}

/// One short exchange, then large prompts: a summary of the exchange may well be longer than it.
/// The large prompts fit into the part that is kept.
#[tokio::test]
async fn the_fallback_never_keeps_less_than_the_settings() {
    let keep = 20_000;
    let settings = CompactionSettings { keep_recent_tokens: keep, ..SETTINGS };
    for prompts in 1..30 {
        let mut session = Session::in_memory("/proj");
        turn(&mut session, 0);
        for number in 0..prompts {
            session
                .append_message(Message::user(format!("p{number}{}", "x".repeat(16_400))))
                .unwrap();
            let answer = AssistantMessage {
                content: vec![AssistantBlock::text("ok")],
                ..AssistantMessage::default()
            };
            session.append_message(Message::Assistant(answer.into())).unwrap();
        }
        let Ok(plan) = session.plan_compaction(&settings, &resolver()) else { continue };
        let kept = plan.preparation.kept.len();
        if let Some(fallback) = &plan.fallback {
            assert!(fallback.kept.len() >= kept, "{prompts}: {} < {kept}", fallback.kept.len());
        }
        if prompts == 5 {
            let faux = Faux::responding(|_| Reply::new().text("longer than it ".repeat(100)));
            let summarizer = Summarizer::new(&faux, Arc::new(Faux::model())).effects(resolver());
            let failed = session.compact(&summarizer, &settings, None).await;
            assert!(matches!(failed, Err(CompactionError::DoesNotShrink { .. })), "{failed:?}");
            assert_eq!(session.context().unwrap().messages.len(), 4 + 2 * prompts);
        }
    }
}

#[test]
fn the_size_is_known_from_the_first_count_after_a_compaction() {
    let mut session = Session::in_memory("/proj");
    turn(&mut session, 0);
    let kept = session.append_message(Message::user("kept")).unwrap();
    assert!(session.context_tokens().unwrap().is_some());
    let compaction = Compaction {
        summary: "S".to_owned(),
        first_kept_entry_id: kept.clone(),
        ..Compaction::default()
    };
    session.append_compaction(compaction).unwrap();
    assert_eq!(session.context_tokens().unwrap(), None);
    let mut answer = AssistantMessage { stop_reason: StopReason::Stop, ..Default::default() };
    answer.content = vec![AssistantBlock::text("counted")];
    answer.usage.input = 500;
    session.append_message(Message::Assistant(answer.into())).unwrap();
    assert_eq!(session.context_tokens().unwrap(), Some(500));
    // What follows the count is estimated: four characters per token.
    session.append_message(Message::user("12345678")).unwrap();
    assert_eq!(session.context_tokens().unwrap(), Some(502));
    // An edit of what was not counted changes the estimate only.
    let added = session.append_message(Message::user("123456789012")).unwrap();
    assert_eq!(session.context_tokens().unwrap(), Some(505));
    session.append_context_edit(&added, None).unwrap();
    assert_eq!(session.context_tokens().unwrap(), Some(502));
    // The edit makes the count useless, but not the context unknown.
    session.append_context_edit(&kept, None).unwrap();
    let tokens = session.context_tokens().unwrap();
    assert!(tokens.is_some_and(|tokens| tokens < 100), "{tokens:?}");
}
