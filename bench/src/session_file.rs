//! Generated session files, in the format in which programs write them.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde_json::{Map, Value, json};

/// A search term that only one message of a collection contains.
pub(crate) const RARE: &str = "parse_header_line";

/// The last word of every conversation: when it is on the screen, the session is.
pub(crate) const LAST_WORD: &str = "end-of-the-session";

const TIME: &str = "2026-11-01T00:00:00.000Z";

/// A generator of text that looks like prose: deterministic, without equal lines.
pub(crate) struct Prose {
    state: u64,
    words: Vec<String>,
}

impl Prose {
    pub(crate) fn new() -> Self {
        let mut prose = Self { state: 88_172_645_463_325_252, words: Vec::new() };
        let syllables = ["ba", "ro", "ti", "ken", "shu", "lo", "mer", "dax", "vi", "ond", "str"];
        for _ in 0..20_000 {
            let count = 1 + prose.below(4);
            let word = (0..count).map(|_| syllables[prose.below(syllables.len())]).collect();
            prose.words.push(word);
        }
        prose
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap_or_default() % limit.max(1)
    }

    /// Returns about this many bytes of text.
    pub(crate) fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            // Some words are much more frequent than others.
            let range = 1 + self.below(self.words.len());
            let word = self.below(range);
            text.push_str(&self.words[word]);
            text.push(' ');
        }
        text
    }

    fn lines(&mut self, count: usize) -> String {
        (0..count).map(|_| self.text(30) + "\n").collect()
    }

    fn markdown(&mut self, turn: usize) -> String {
        let mut text = format!("## {}\n\n{}\n\n", self.text(20).trim(), self.text(400));
        for _ in 0..4 {
            text += &format!("- **{}**: {}\n", self.text(8).trim(), self.text(60).trim());
        }
        text += &format!(
            "\n```rust\nfn part_{turn}(value: &str) -> Option<usize> {{\n    let found = value.find(\"{}\")?;\n    Some(found + {turn})\n}}\n```\n\n",
            self.text(10).trim()
        );
        if turn.is_multiple_of(5) {
            text += "| name | value |\n|---|---|\n";
            for row in 0..4 {
                text += &format!("| {} | {row} |\n", self.text(10).trim());
            }
            text.push('\n');
        }
        text + self.text(300).trim()
    }
}

/// A session file that is being written.
pub(crate) struct SessionFile {
    out: BufWriter<File>,
    entries: u32,
    /// Milliseconds since the epoch.
    time: u64,
}

impl SessionFile {
    pub(crate) fn create(path: &Path, project: &Path) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        let header =
            json!({"type": "session", "version": 3, "id": id, "timestamp": TIME, "cwd": project});
        writeln!(out, "{header}")?;
        Ok(Self { out, entries: 0, time: 1_793_491_200_000 })
    }

    fn entry(&mut self, kind: &str, fields: Value) -> io::Result<()> {
        let parent = match self.entries {
            0 => Value::Null,
            parent => format!("{parent:08x}").into(),
        };
        self.entries += 1;
        let id = format!("{:08x}", self.entries);
        let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": TIME});
        if let (Some(entry), Value::Object(fields)) = (entry.as_object_mut(), fields) {
            entry.extend::<Map<String, Value>>(fields);
        }
        writeln!(self.out, "{entry}")
    }

    fn user(&mut self, text: &str) -> io::Result<()> {
        let content = json!([{"type": "text", "text": text}]);
        let time = self.time;
        self.entry(
            "message",
            json!({"message": {"role": "user", "content": content, "timestamp": time}}),
        )
    }

    fn assistant(&mut self, content: &Value, stop_reason: &str) -> io::Result<()> {
        let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
        let usage = json!({"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15, "cost": cost});
        let message = json!({
            "role": "assistant", "content": content, "api": "openai-completions",
            "provider": "mock", "model": "m1", "usage": usage, "stopReason": stop_reason,
            "timestamp": self.time,
        });
        self.entry("message", json!({"message": message}))
    }

    fn tool_result(&mut self, call: &str, name: &str, text: &str, failed: bool) -> io::Result<()> {
        let message = json!({
            "role": "toolResult", "toolCallId": call, "toolName": name,
            "content": [{"type": "text", "text": text}], "isError": failed, "timestamp": self.time,
        });
        self.entry("message", json!({"message": message}))
    }

    /// Writes the given message of a conversation: in turn a question, a call of a tool, its result,
    /// and an answer in Markdown. The average message has 1.3 KB.
    fn turn(&mut self, number: usize, prose: &mut Prose) -> io::Result<()> {
        let turn = number / 4;
        let call = format!("call-{turn}");
        let name = ["bash", "read", "write"][turn % 3];
        match number % 4 {
            0 => self.user(&prose.text(200)),
            1 => {
                let arguments = match name {
                    "bash" => json!({"command": format!("cargo test part_{turn}")}),
                    "read" => json!({"path": format!("src/part_{turn}.rs")}),
                    _ => json!({"path": format!("notes/{turn}.md"), "content": prose.lines(30)}),
                };
                let content = json!([
                    {"type": "text", "text": prose.text(100)},
                    {"type": "toolCall", "id": call, "name": name, "arguments": arguments},
                ]);
                self.assistant(&content, "toolUse")
            }
            2 => {
                let text =
                    if name == "write" { "Wrote the file".to_owned() } else { prose.lines(70) };
                self.tool_result(&call, name, &text, turn.is_multiple_of(17))
            }
            _ => self.assistant(&text(&prose.markdown(turn)), "stop"),
        }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// Writes a conversation. With `compacted`, the last tenth follows a compaction.
pub(crate) fn conversation(
    path: &Path,
    project: &Path,
    messages: usize,
    compacted: bool,
) -> io::Result<()> {
    let mut prose = Prose::new();
    let mut session = SessionFile::create(path, project)?;
    for number in 0..messages {
        if compacted && number == messages - messages / 10 {
            let kept = format!("{:08x}", session.entries);
            let summary = prose.text(4000);
            let fields =
                json!({"summary": summary, "firstKeptEntryId": kept, "tokensBefore": 100_000});
            session.entry("compaction", fields)?;
        }
        if number + 1 == messages {
            session.assistant(&text(LAST_WORD), "stop")?;
        } else {
            session.turn(number, &mut prose)?;
        }
    }
    session.finish()
}

/// Writes a chain of short messages.
pub(crate) fn chain(path: &Path, messages: usize) -> io::Result<()> {
    let mut session = SessionFile::create(path, Path::new("/project"))?;
    for _ in 0..messages {
        session.user("a short message")?;
    }
    session.finish()
}

/// Writes sessions, each with 20 KB of conversation and as much tool output.
pub(crate) fn collection(root: &Path, sessions: usize) -> io::Result<()> {
    let mut prose = Prose::new();
    for number in 0..sessions {
        let directory = root.join(format!("--project-{}--", number % 50));
        std::fs::create_dir_all(&directory)?;
        let name = format!("2026-11-01T00-00-00-000Z_0198c3f0-0000-7000-8000-{number:012}.jsonl");
        let mut session = SessionFile::create(&directory.join(name), Path::new("/project"))?;
        // Times are distinct and not in the order of the names.
        session.time += (number * 7919 % sessions) as u64 * 1000;
        for turn in 0..10 {
            let mut question = prose.text(1000);
            if number == sessions / 2 && turn == 5 {
                question.push_str(&format!("where is {RARE}, and what is 日本語?"));
            }
            session.user(&question)?;
            session.assistant(&text(&prose.text(1000)), "stop")?;
            session.tool_result("c", "read", &prose.text(2000), false)?;
        }
        session.finish()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_the_messages_and_the_size() {
        let directory = tempfile::tempdir().unwrap();
        for compacted in [false, true] {
            let path = directory.path().join(format!("{compacted}.jsonl"));
            conversation(&path, directory.path(), 400, compacted).unwrap();
            let session =
                pi_session::Session::open(&path, &pi_session::OpenOptions::read()).unwrap();
            let ids = session.context_ids().unwrap().len();
            if compacted {
                assert!((40..60).contains(&ids), "{ids}");
            } else {
                assert_eq!(ids, 400);
            }
            let size = std::fs::metadata(&path).unwrap().len();
            assert!((400 * 1_100..400 * 1_500).contains(&size), "{size}");
        }
    }
}
