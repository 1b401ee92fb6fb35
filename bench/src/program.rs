//! The cost of the program as users run it: start-up with many files, a long answer, a long session.
//!
//! CPU time of the program alone, since the server of the model is not its child; memory as the
//! system reports it while the program runs.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Outcome;
use crate::clock::{children, typical};
use crate::home::{Home, binary, complete};
use crate::model::{Model, Step};
use crate::process::Usage;
use crate::table::{self, Table, megabytes};

const SKILLS: usize = 50;
const PROMPTS: usize = 20;
const CHUNKS: usize = 20_000;
/// A program that takes longer is broken.
const LIMIT: Duration = Duration::from_secs(60);

/// A home with a model, in which programs run.
pub(crate) struct Bench {
    pub(crate) home: Home,
    pub(crate) model: Model,
    _directory: tempfile::TempDir,
}

pub(crate) fn tables(quick: bool) -> Outcome {
    let pi = binary()?;
    let (sessions, messages, runs) = if quick { (500, 4_000, 3) } else { (5_000, 40_000, 10) };
    let bench = Bench::create()?;
    bench.home.fill(SKILLS, PROMPTS, sessions)?;
    let session = bench.home.session(messages)?;
    let mut table =
        Table::new("pi: CPU time and peak memory", &["what", "CPU", "memory", "budget"]);
    let mut add = |what: String, time, memory, budget: &str| {
        table.row([what, table::time(time), megabytes(memory), budget.to_owned()]);
    };
    let version = typical(runs * 10, children, || bench.version(&pi))?;
    add("`--version`".to_owned(), version, None, "2 ms, 8 MB");
    let print = typical(runs, children, || bench.print(&pi, 1))?;
    let files = format!("{SKILLS} skills, {PROMPTS} prompts, {sessions} sessions");
    add(format!("`-p hi` with {files}"), print, bench.memory(&pi)?, "5 ms, 18 MB");
    let answer = typical(runs, children, || bench.print(&pi, CHUNKS))?;
    add(format!("`-p` with an answer of {CHUNKS} chunks"), answer, None, "60 ms");
    let state = typical(runs, children, || bench.state(&pi, &session).map(drop))?;
    let memory = bench.state(&pi, &session)?;
    add(format!("RPC `get_state`, {messages} messages"), state, memory, "35 ms, 80 MB");
    Ok(vec![table])
}

impl Bench {
    pub(crate) fn create() -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let model = Model::start()?;
        let home = Home::create(directory.path(), model.port)?;
        Ok(Self { home, model, _directory: directory })
    }

    pub(crate) fn version(&self, pi: &str) -> io::Result<()> {
        complete(self.home.command(pi).arg("--version"))
    }

    /// Runs a prompt whose answer has this many chunks.
    pub(crate) fn print(&self, pi: &str, chunks: usize) -> io::Result<()> {
        complete(&mut self.prompt(pi, &format!("CHUNKS {chunks}")))
    }

    /// Returns the peak memory of a prompt, in megabytes, shortly before the answer ends.
    pub(crate) fn memory(&self, pi: &str) -> io::Result<Option<f64>> {
        let mut child = self.prompt(pi, "go").spawn()?;
        let pause = Duration::from_millis(1);
        let sent = self.model.perform(Step::Chunks { count: 100, pause }, LIMIT);
        let peak = Usage::of(child.id()).peak();
        let ended = sent.and_then(|()| self.model.perform(Step::End, LIMIT));
        if ended.is_err() {
            child.kill()?;
        }
        child.wait()?;
        ended.map(|()| peak)
    }

    fn prompt(&self, pi: &str, text: &str) -> Command {
        let mut command = self.home.command(pi);
        command.args(["-p", "--model", "mock/m1", text]);
        command
    }

    /// Requests the state of a session in RPC mode, and returns the peak memory in megabytes.
    pub(crate) fn state(&self, pi: &str, session: &Path) -> io::Result<Option<f64>> {
        let mut command = self.home.command(pi);
        command.args(["--mode", "rpc", "--model", "mock/m1", "--session"]).arg(session);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let answered = request(&mut child, &json!({"type": "get_state"}), 1);
        let peak = Usage::of(child.id()).peak();
        drop(child.stdin.take());
        child.wait()?;
        answered.map(|()| peak)
    }
}

/// Sends a request several times over RPC, and waits for each response.
pub(crate) fn request(child: &mut Child, request: &Value, times: u32) -> io::Result<()> {
    let (Some(input), Some(output)) = (child.stdin.as_mut(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    let mut lines = BufReader::new(output).lines();
    for _ in 0..times {
        writeln!(input, "{request}")?;
        loop {
            let line = lines.next().ok_or_else(|| io::Error::other("the program ended"))??;
            let record: Value = serde_json::from_str(&line)?;
            if record["type"] == "response" {
                break;
            }
        }
    }
    Ok(())
}
