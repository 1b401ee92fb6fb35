//! The output: lines are gathered while the reader is busy.
//!
//! The agent never waits for a reader. For a reader that is far behind, events of progress are
//! merged, so that what waits for it is bounded by what happened, not by how often it was reported.

use std::sync::{Arc, Mutex};

use pi_agent::BoxFuture;
use pi_base::lock;
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use pi_coding_agent::merge_into;
use pi_coding_agent::session::{SessionEvent, SessionListener};

/// The reader is far behind if more bytes than this are unwritten.
const FAR_BEHIND: usize = 1024 * 1024;

/// The output was closed by its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the output was closed")]
pub struct OutputClosed;

/// A writer of lines. Clones write to the same output.
#[derive(Debug, Clone, Default)]
pub struct LineWriter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when there is something to write.
    filled: Notify,
}

#[derive(Debug, Default)]
struct State {
    unwritten: Vec<u8>,
    /// Events of progress that follow the lines, merged for a reader that is far behind.
    held: Vec<SessionEvent>,
    closed: bool,
    finished: bool,
}

impl LineWriter {
    /// Adds a record without waiting.
    pub fn add(&self, record: &impl Serialize) -> Result<(), OutputClosed> {
        {
            let mut state = lock(&self.0.state);
            if state.closed {
                return Err(OutputClosed);
            }
            state.release();
            state.write(record);
        }
        self.0.filled.notify_one();
        Ok(())
    }

    /// Writes all lines until [`LineWriter::finish`]. Fails when the output cannot be written.
    pub async fn drain(&self, mut out: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        loop {
            let batch = {
                let mut state = lock(&self.0.state);
                state.release();
                std::mem::take(&mut state.unwritten)
            };
            if batch.is_empty() {
                if lock(&self.0.state).finished {
                    return Ok(());
                }
                self.0.filled.notified().await;
                continue;
            }
            let written = async {
                out.write_all(&batch).await?;
                out.flush().await
            };
            let written = written.await;
            lock(&self.0.state).closed |= written.is_err();
            written?;
        }
    }

    /// Ends [`LineWriter::drain`] when all lines are written.
    pub fn finish(&self) {
        lock(&self.0.state).finished = true;
        self.0.filled.notify_one();
    }
}

impl State {
    /// Writes a record.
    fn write(&mut self, record: &impl Serialize) {
        let start = self.unwritten.len();
        if serde_json::to_writer(&mut self.unwritten, record).is_err() {
            // Never half a record.
            self.unwritten.truncate(start);
            return;
        }
        self.unwritten.push(b'\n');
    }

    /// Writes the events that were held.
    fn release(&mut self) {
        for event in std::mem::take(&mut self.held) {
            self.write(&event);
        }
    }

    /// Holds an event of progress, merged with those of the same kind.
    fn hold(&mut self, event: &SessionEvent) {
        let rest = merge_into(self.held.iter_mut(), event.clone());
        self.held.extend(rest);
    }
}

/// Writes every event of a session that is a record.
impl SessionListener for LineWriter {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if event.is_record() {
            let is_held = event.is_progress() && {
                let mut state = lock(&self.0.state);
                let is_behind = !state.closed && state.unwritten.len() >= FAR_BEHIND;
                if is_behind {
                    state.hold(event);
                }
                is_behind
            };
            if !is_held {
                // A closed output ends `drain`, which reports it.
                let _ = self.add(event);
            }
        }
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pi_protocol::Usage;
    use serde_json::Value;
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use pi_coding_agent::session::MessageDelta;

    fn delta(content_index: usize, delta: &str) -> SessionEvent {
        let assistant_message_event =
            MessageDelta::TextDelta { content_index, delta: delta.to_owned() };
        SessionEvent::MessageUpdate {
            usage: Usage::default(),
            assistant_message_event,
            message: None,
        }
    }

    fn tool(id: &str, text: &str) -> SessionEvent {
        SessionEvent::ToolExecutionUpdate {
            tool_call_id: id.to_owned(),
            tool_name: "bash".to_owned(),
            args: Arc::default(),
            partial_result: Arc::new(pi_agent::ToolOutput::text(text)),
            parent_tool_call_id: None,
        }
    }

    /// A reader that does not read: the agent goes on, and the reader gets all of the text in few
    /// records when it reads again.
    #[tokio::test]
    async fn progress_is_merged_for_a_reader_that_is_far_behind() {
        let writer = LineWriter::default();
        writer.on_event(&delta(0, &"x".repeat(FAR_BEHIND))).await;
        for number in 0..10_000 {
            writer.on_event(&delta(0, "y")).await;
            writer.on_event(&delta(1, "z")).await;
            writer.on_event(&tool("a", &number.to_string())).await;
        }
        writer.on_event(&SessionEvent::AgentStart).await;
        writer.on_event(&delta(0, "end")).await;
        writer.finish();
        let (mut reader, out) = tokio::io::duplex(64);
        let mut text = String::new();
        let (written, read) =
            tokio::join!(async { writer.drain(out).await }, reader.read_to_string(&mut text));
        written.unwrap();
        read.unwrap();
        let records: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let length =
            |record: &Value| record["assistantMessageEvent"]["delta"].as_str().map(str::len);
        let lengths: Vec<_> = records.iter().map(length).collect();
        let expected =
            [Some(FAR_BEHIND), Some(10_000), Some(10_000), None, None, Some("end".len())];
        assert_eq!(lengths, expected);
        assert!(records[3].to_string().contains("9999"), "{}", records[3]);
    }
}
