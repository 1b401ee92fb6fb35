//! The file: what is written, what is read back, what happens when either fails.

use std::fs;
use std::path::PathBuf;

use pi_protocol::{AssistantBlock, AssistantMessage, Message, StopReason};
use pi_session::{Access, NewSession, OnLocked, OpenOptions, Session, SessionError};
use tempfile::TempDir;

fn new_in(directory: &TempDir) -> Session {
    Session::create(NewSession {
        cwd: PathBuf::from("/work"),
        directory: Some(directory.path().join("sessions")),
        ..NewSession::default()
    })
    .unwrap()
}

pub(crate) fn answer(text: &str) -> Message {
    Message::Assistant(
        AssistantMessage {
            content: vec![AssistantBlock::text(text)],
            provider: "p".to_owned(),
            model: "m".to_owned(),
            stop_reason: StopReason::Stop,
            ..AssistantMessage::default()
        }
        .into(),
    )
}

#[test]
fn the_file_appears_with_the_first_user_message_and_grows_by_lines() {
    let directory = TempDir::new().unwrap();
    let mut session = new_in(&directory);
    session.append_model("p", "m").unwrap();
    session.append_message(Message::system("be brief")).unwrap();
    let path = session.path().unwrap().to_owned();
    assert!(!path.exists() && !session.is_saved());
    session.append_message(Message::user("hello")).unwrap();
    assert!(session.is_saved());
    let before = fs::read(&path).unwrap();
    assert_eq!(before.split(|byte| *byte == b'\n').count(), 5);
    session.append_message(answer("hi")).unwrap();
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&before) && after.ends_with(b"\n"));
    let expected = session.context().unwrap();
    drop(session);
    let mut again = Session::open(&path, &OpenOptions::append()).unwrap();
    assert_eq!(again.context().unwrap(), expected);
    assert_eq!(again.len(), 4);
    assert!(again.problems().is_empty());
}

#[test]
fn a_second_writer_fails_or_forks_and_readers_do_not_care() {
    let directory = TempDir::new().unwrap();
    let mut session = new_in(&directory);
    session.append_message(Message::user("hello")).unwrap();
    let path = session.path().unwrap().to_owned();
    let second = Session::open(&path, &OpenOptions::append());
    assert!(matches!(second, Err(SessionError::Locked(_))), "{second:?}");
    let mut reader = Session::open(&path, &OpenOptions::read()).unwrap();
    assert_eq!(reader.context().unwrap().messages.len(), 1);
    let refused = reader.append_message(Message::user("no"));
    assert!(matches!(refused, Err(SessionError::ReadOnly(_))), "{refused:?}");
    assert_eq!(reader.len(), 1);
    let fork = OpenOptions { on_locked: OnLocked::Fork, ..OpenOptions::append() };
    assert_eq!(fork.access, Access::Append);
    let mut forked = Session::open(&path, &fork).unwrap();
    assert_ne!(forked.path().unwrap(), path);
    forked.append_message(Message::user("elsewhere")).unwrap();
    assert_eq!(forked.header().parent_session.as_deref(), path.to_str());
    assert_eq!(forked.context().unwrap().messages.len(), 2);
    session.append_message(Message::user("here")).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 2);
}
