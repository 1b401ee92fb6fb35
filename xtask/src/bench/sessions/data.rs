//! Generated session files, in the format in which programs write them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A search term that only one message of a collection contains.
pub(super) const RARE: &str = "parse_header_line";

/// A generator of text that looks like prose: deterministic, without equal lines.
pub(in crate::bench) struct Prose {
    state: u64,
    words: Vec<String>,
}

impl Prose {
    pub(in crate::bench) fn new() -> Self {
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
    pub(in crate::bench) fn text(&mut self, bytes: usize) -> String {
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
}

/// A session file that is being written.
pub(super) struct Writer {
    out: BufWriter<File>,
    entries: u32,
    /// Milliseconds since the epoch.
    time: u64,
}

impl Writer {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(
            out,
            r#"{{"type":"session","version":3,"id":"0198c3f0-0000-7000-8000-000000000000","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/project"}}"#
        )?;
        Ok(Self { out, entries: 0, time: 1_793_491_200_000 })
    }

    fn entry(&mut self, kind: &str, rest: &str) -> io::Result<()> {
        let parent = match self.entries {
            0 => "null".to_owned(),
            parent => format!("\"{parent:08x}\""),
        };
        self.entries += 1;
        let id = self.entries;
        writeln!(
            self.out,
            r#"{{"type":"{kind}","id":"{id:08x}","parentId":{parent},"timestamp":"2026-11-01T00:00:00.000Z",{rest}}}"#
        )
    }

    pub(super) fn user(&mut self, text: &str) -> io::Result<()> {
        self.entry(
            "message",
            &format!(r#""message":{{"role":"user","content":"{text}","timestamp":{}}}"#, self.time),
        )
    }

    pub(super) fn assistant(&mut self, text: &str) -> io::Result<()> {
        let time = self.time;
        let rest = format!(
            r#""message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"toolCall","id":"c","name":"read","arguments":{{"path":"src/lib.rs"}}}}],"api":"a","provider":"p","model":"m","usage":{{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.3}}}},"stopReason":"toolUse","timestamp":{time}}}"#
        );
        self.entry("message", &rest)
    }

    pub(super) fn tool_result(&mut self, text: &str) -> io::Result<()> {
        let time = self.time;
        let rest = format!(
            r#""message":{{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{{"type":"text","text":"{text}"}}],"isError":false,"timestamp":{time}}}"#
        );
        self.entry("message", &rest)
    }

    pub(super) fn compaction(&mut self, summary: &str) -> io::Result<()> {
        let kept = self.entries;
        let rest = format!(
            r#""summary":"{summary}","firstKeptEntryId":"{kept:08x}","tokensBefore":100000"#
        );
        self.entry("compaction", &rest)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a session of messages of about 1,250 bytes. With `compacted`, the last tenth follows a
/// compaction.
pub(super) fn long_session(path: &Path, messages: usize, compacted: bool) -> io::Result<()> {
    let mut prose = Prose::new();
    let mut session = Writer::create(path)?;
    for number in 0..messages {
        if compacted && number == messages - messages / 10 {
            session.compaction(&prose.text(4000))?;
        }
        match number % 4 {
            0 => session.user(&prose.text(300))?,
            1 => session.assistant(&prose.text(800))?,
            _ => session.tool_result(&prose.text(1700))?,
        }
    }
    session.finish()
}

/// Writes a chain of short messages.
pub(super) fn chain(path: &Path, messages: usize) -> io::Result<()> {
    let mut session = Writer::create(path)?;
    for _ in 0..messages {
        session.user("a short message")?;
    }
    session.finish()
}

/// Writes sessions, each with 20 KB of conversation and as much tool output.
pub(super) fn collection(root: &Path, sessions: usize) -> io::Result<()> {
    let mut prose = Prose::new();
    for number in 0..sessions {
        let directory = root.join(format!("--project-{}--", number % 50));
        std::fs::create_dir_all(&directory)?;
        let name = format!("2026-11-01T00-00-00-000Z_0198c3f0-0000-7000-8000-{number:012}.jsonl");
        let mut session = Writer::create(&directory.join(name))?;
        // Times are distinct and not in the order of the names.
        session.time += (number * 7919 % sessions) as u64 * 1000;
        for turn in 0..10 {
            let mut question = prose.text(1000);
            if number == sessions / 2 && turn == 5 {
                question.push_str(&format!("where is {RARE}, and what is 日本語?"));
            }
            session.user(&question)?;
            session.assistant(&prose.text(1000))?;
            session.tool_result(&prose.text(2000))?;
        }
        session.finish()?;
    }
    Ok(())
}
