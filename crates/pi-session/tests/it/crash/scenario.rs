//! The scenarios of the crash tests, and the conditions that must hold afterwards.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};

use pi_protocol::{AgentMessage, Entry, EntryBody, Message};
use pi_session::{OpenOptions, Session, SessionError, session_files, text_of};
use tempfile::TempDir;

use super::disk::SmallDisk;
use super::writer::{Task, command, old_file, text};
use crate::script::Rng;

/// The way in which a writer is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    /// Killed while the session is created.
    Creation,
    /// Killed while entries are appended.
    Appends,
    /// Killed while it appends to a file with a torn line.
    Continued,
    /// Killed between compactions and branches.
    Compactions,
    /// Killed while it forks the session.
    Forks,
    /// Killed while an old file is migrated.
    Migration,
    /// Killed while other programs read, try to lock, and write without a lock.
    Concurrent,
    /// Writes to a file whose size is limited.
    FileLimit,
    /// Writes to a disk that becomes full.
    FullDisk,
    /// Writes to a read-only disk.
    ReadOnlyDisk,
}

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::Creation,
    Scenario::Appends,
    Scenario::Continued,
    Scenario::Compactions,
    Scenario::Forks,
    Scenario::Migration,
    Scenario::Concurrent,
    Scenario::FileLimit,
    Scenario::FullDisk,
    Scenario::ReadOnlyDisk,
];

impl Scenario {
    /// Returns true if the scenario is possible on this system.
    pub(super) fn is_possible(self, disk: Option<&SmallDisk>) -> bool {
        match self {
            Self::FileLimit => cfg!(unix),
            other => !other.needs_disk() || disk.is_some(),
        }
    }

    fn needs_disk(self) -> bool {
        matches!(self, Self::FullDisk | Self::ReadOnlyDisk)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Appends => "appends",
            Self::Continued => "continued",
            Self::Compactions => "compactions",
            Self::Forks => "forks",
            Self::Migration => "migration",
            Self::Concurrent => "concurrent",
            Self::FileLimit => "file limit",
            Self::FullDisk => "full disk",
            Self::ReadOnlyDisk => "read-only disk",
        }
    }
}

/// The result of one run.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) acknowledged: usize,
    pub(super) refused: usize,
    pub(super) survived: bool,
    /// Number of lines that the kill left incomplete.
    pub(super) problems: usize,
    /// The session files, and the number of their entries.
    pub(super) files: Vec<(PathBuf, usize)>,
    _directory: Option<TempDir>,
}

/// Runs a writer, interrupts it, and checks the files.
pub(super) fn run_scenario(
    scenario: &Scenario,
    rng: &mut Rng,
    disk: Option<&SmallDisk>,
) -> Outcome {
    let own = TempDir::new().unwrap();
    let disk = disk.filter(|_| scenario.needs_disk());
    let directory = disk.map_or(own.path(), SmallDisk::path).join("sessions");
    fs::create_dir(&directory).unwrap();
    let task = task(*scenario, rng, &directory);
    let before = task.file.as_deref().map(contents).unwrap_or_default();
    if let Some(disk) = disk.filter(|_| *scenario == Scenario::ReadOnlyDisk) {
        make_read_only(disk, &directory);
    }
    let limit = (*scenario == Scenario::FileLimit).then(|| 8 + rng.below(100));
    let mut writer = Writer::start(&task, limit);
    interrupt(*scenario, rng, &mut writer, &task);
    let survived = writer.end();
    let mut outcome = Outcome { survived, refused: writer.refused, ..Outcome::default() };
    outcome.acknowledged = writer.acknowledged.len();
    if let Some(disk) = disk {
        disk.remount("rw,size=4m");
    }
    check(&mut outcome, &writer, &directory, &before);
    if *scenario == Scenario::Continued {
        // The torn line that existed before.
        outcome.problems -= 1;
    }
    if let Some(disk) = disk {
        // Files that are used later must not be on the disk that is cleared.
        outcome.files.clear();
        disk.clear();
        disk.remount("rw,size=128k");
    }
    outcome._directory = Some(own);
    outcome
}

fn task(scenario: Scenario, rng: &mut Rng, directory: &Path) -> Task {
    let mut task = Task {
        file: None,
        directory: directory.to_owned(),
        seed: rng.below(1 << 30) as u64,
        appends: 200,
        largest: 1_000_000,
        compact: false,
        fork: false,
    };
    let file = directory.join("old.jsonl");
    match scenario {
        Scenario::Creation => task.appends = 1,
        Scenario::Continued => {
            let mut first = Session::open(&file, &OpenOptions::append()).unwrap();
            first.append_message(Message::user("before")).unwrap();
            drop(first);
            let torn = "{\"type\":\"message\",\"id\":\"torn\",\"parentId\":null,\"timest";
            append_raw(&file, torn);
            task.file = Some(file);
        }
        Scenario::Compactions => (task.compact, task.largest) = (true, 50_000),
        Scenario::Forks => (task.fork, task.largest) = (true, 20_000),
        Scenario::Migration => {
            old_file(&file, 1 + rng.below(3000));
            (task.file, task.appends) = (Some(file), 3);
        }
        Scenario::FileLimit | Scenario::FullDisk | Scenario::ReadOnlyDisk => {
            (task.appends, task.largest) = (60, 30_000);
        }
        Scenario::Appends | Scenario::Concurrent => {}
    }
    task
}

/// Lets the writer work for a while, and then interrupts it.
fn interrupt(scenario: Scenario, rng: &mut Rng, writer: &mut Writer, task: &Task) {
    match scenario {
        Scenario::Creation | Scenario::Migration => {
            writer.read_until("ready");
            let longest = if scenario == Scenario::Creation { 400_000 } else { 3_000_000 };
            spin(rng.below(longest));
        }
        Scenario::FileLimit | Scenario::FullDisk | Scenario::ReadOnlyDisk => {
            writer.read_to_end();
            return;
        }
        Scenario::Concurrent => use_concurrently(rng, writer, task),
        _ => {
            writer.read_acknowledgements(rng.below(40));
            spin(rng.below(100_000));
        }
    }
    writer.kill();
}

/// Makes the disk read-only: an existing session can be read but not appended to.
fn make_read_only(disk: &SmallDisk, directory: &Path) {
    let file = directory.join("before.jsonl");
    let mut session = Session::open(&file, &OpenOptions::append()).unwrap();
    session.append_message(Message::user("before")).unwrap();
    drop(session);
    disk.remount("ro");
    let refused = Session::open(&file, &OpenOptions::append());
    assert!(matches!(refused, Err(SessionError::Io { .. })), "{refused:?}");
    assert_eq!(contents(&file), ["before"]);
}

/// Reads the session, tries to lock it, and writes without a lock.
fn use_concurrently(rng: &mut Rng, writer: &mut Writer, task: &Task) {
    writer.read_acknowledgements(1);
    let file = session_files(&task.directory).unwrap().pop().expect("an acknowledged file");
    for round in 0..1 + rng.below(6) {
        writer.read_acknowledgements(rng.below(5));
        let second = Session::open(&file, &OpenOptions::append());
        if !writer.has_ended() {
            assert!(matches!(second, Err(SessionError::Locked(_))), "{second:?}");
        }
        let id = format!("other{round}");
        append_raw(
            &file,
            &format!(
                "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05.006Z\",\"customType\":\"other\"}}\n"
            ),
        );
        writer.others.push(id);
        let reader = Session::open(&file, &OpenOptions::read()).unwrap();
        for (id, _) in &writer.acknowledged {
            assert!(reader.contains(id), "a reader misses {id}");
        }
    }
}

fn append_raw(file: &Path, text: &str) {
    fs::OpenOptions::new().append(true).open(file).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Checks the conditions that must hold after every scenario.
fn check(outcome: &mut Outcome, writer: &Writer, directory: &Path, before: &[String]) {
    let files = session_files(directory).unwrap();
    assert!(!files.is_empty() || writer.acknowledged.is_empty(), "the file is gone");
    let mut found = 0;
    for file in files {
        let fork = writer.forks.iter().find(|(path, _)| *path == file);
        let mut session = Session::open(&file, &OpenOptions::append())
            .unwrap_or_else(|error| panic!("{} does not open: {error}", file.display()));
        outcome.problems += session.verify().unwrap().len();
        if let Some((_, count)) = fork {
            assert_eq!(session.len(), *count, "a fork lost entries");
        } else if session.header().parent_session.is_none() {
            found += check_original(&session, writer, before);
        }
        let appended = session.append_message(Message::user("appended")).unwrap();
        let expected = session.entries().count();
        drop(session);
        let mut again = Session::open(&file, &OpenOptions::read()).unwrap();
        again.verify().unwrap();
        assert_eq!((again.leaf_id(), again.entries().count()), (Some(&*appended), expected));
        outcome.files.push((file, expected));
    }
    assert_eq!(found, writer.acknowledged.len(), "acknowledged entries are missing");
    for (path, _) in &writer.forks {
        assert!(path.exists(), "a fork is gone");
    }
}

/// Checks that the session has its earlier entries, then all acknowledged ones, complete and in
/// order.
fn check_original(session: &Session, writer: &Writer, before: &[String]) -> usize {
    let entries: Vec<Entry> = session.entries().map(Result::unwrap).collect();
    let texts: Vec<String> = entries.iter().filter_map(text_in).collect();
    assert!(texts.starts_with(before), "what was there before has changed");
    let mut rest = entries.iter();
    for (id, length) in &writer.acknowledged {
        let entry = rest.find(|entry| entry.id == *id);
        let entry = entry.unwrap_or_else(|| panic!("{id} is lost or out of order"));
        assert_eq!(text_in(entry), Some(text(*length)), "{id} is not what was written");
    }
    for id in &writer.others {
        assert!(session.contains(id), "what another program wrote is lost: {id}");
    }
    writer.acknowledged.len()
}

fn contents(file: &Path) -> Vec<String> {
    let session = Session::open(file, &OpenOptions::read()).unwrap();
    session.entries().filter_map(|entry| text_in(&entry.unwrap())).collect()
}

fn text_in(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Message(AgentMessage::Llm(Message::User(user))) => Some(text_of(&user.content)),
        EntryBody::Compaction(compaction) => Some(compaction.summary.clone()),
        EntryBody::BranchSummary(summary) => Some(summary.summary.clone()),
        _ => None,
    }
}

/// Waits without yielding the processor.
fn spin(rounds: usize) {
    for _ in 0..rounds {
        std::hint::spin_loop();
    }
}

/// A writer process, and the appends that it has acknowledged.
struct Writer {
    process: Child,
    output: BufReader<ChildStdout>,
    acknowledged: Vec<(String, usize)>,
    forks: Vec<(PathBuf, usize)>,
    refused: usize,
    /// Ids of entries that another program wrote.
    others: Vec<String>,
    killed: bool,
}

impl Writer {
    fn start(task: &Task, file_limit: Option<usize>) -> Self {
        let mut process = command(task, file_limit).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            output,
            acknowledged: Vec::new(),
            forks: Vec::new(),
            refused: 0,
            others: Vec::new(),
            killed: false,
        }
    }

    /// Reads the next line of output; `None` at the end.
    fn read_line(&mut self) -> Option<String> {
        let mut line = String::new();
        // An incomplete line acknowledges nothing.
        if self.output.read_line(&mut line).unwrap() == 0 || !line.ends_with('\n') {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["ack", id, length] => {
                self.acknowledged.push(((*id).to_owned(), length.parse().unwrap()));
            }
            ["fork", path, count] => self.forks.push((path.into(), count.parse().unwrap())),
            ["refused"] => self.refused += 1,
            _ => {}
        }
        Some(line)
    }

    fn read_until(&mut self, word: &str) {
        while self.read_line().is_some_and(|line| line.trim() != word) {}
    }

    /// Reads this many more acknowledgements.
    fn read_acknowledgements(&mut self, acknowledgements: usize) {
        let enough = self.acknowledged.len() + acknowledgements;
        while self.acknowledged.len() < enough && self.read_line().is_some() {}
    }

    fn read_to_end(&mut self) {
        while self.read_line().is_some() {}
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.killed = true;
    }

    /// Reads the rest of the output, and returns true if the writer ended by itself.
    fn end(&mut self) -> bool {
        self.read_to_end();
        let status = self.process.wait().unwrap();
        assert!(self.killed || status.success(), "the writer failed: {status}");
        status.success()
    }
}
