//! `pi replay`: repeats recorded runs offline and reports the first difference.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use pi_base::text;
use pi_coding_agent::Environment;
use pi_coding_agent::extension::{NoUi, RunMode};
use pi_converge::{RECORDING_FILE, Recording, ReplayPlan, ReplayReport, RunOptions, find_run};
use secrecy::SecretString;
use serde_json::json;

use super::setup;
use crate::arguments::Arguments;
use crate::exit::{Exit, fail, note, print};
use crate::extensions;
use crate::flags::parse::CommandArgs;

/// Levels of directories below which `--all` looks for recordings.
const DEPTH: usize = 4;

/// Replays recordings.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return fail(&error, Exit::Configuration),
    };
    let plan = match plan(args, &environment) {
        Ok(plan) => plan,
        Err(error) => return fail(&error, Exit::Usage),
    };
    let recordings = match recordings(args, &environment) {
        Ok(recordings) => recordings,
        Err(error) => return fail(&error, Exit::Usage),
    };
    let directory = args.value("directory").map(|text| environment.cwd.join(text));
    super::block_on(async {
        let mut summary = Summary::default();
        for recording in &recordings {
            let replayed = Box::pin(replay(recording, &environment, directory.as_deref(), &plan));
            let result = replayed.await;
            if let Err(exit) = summary.add(recording, result, args.has("json")) {
                return exit;
            }
        }
        summary.finish(recordings.len(), args.has("json"))
    })
}

fn plan(args: &CommandArgs, environment: &Environment) -> Result<ReplayPlan, String> {
    let mut plan = ReplayPlan::default();
    let files = args.values("rules").chain(args.values("policy"));
    plan.rules = files.map(|file| environment.cwd.join(file)).collect();
    if let Some(missing) = plan.rules.iter().find(|file| !file.is_file()) {
        return Err(format!("the rule file {} does not exist", missing.display()));
    }
    plan.live_from = match (args.value("from"), args.has("live")) {
        (None, false) => None,
        (None, true) => return Err("--live needs --from NUMBER".to_owned()),
        (Some(_), false) => {
            return Err("--from sends requests and runs tools; confirm it with --live".to_owned());
        }
        (Some(text), true) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            Some(number.ok_or(format!("invalid value \"{text}\" for --from: expected a number"))?)
        }
    };
    Ok(plan)
}

/// Returns the recordings that the command line names.
fn recordings(args: &CommandArgs, environment: &Environment) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for word in &args.words {
        let path = environment.cwd.join(word);
        if args.has("all") {
            let before = found.len();
            find(&path, DEPTH, &mut found);
            if found.len() == before {
                return Err(format!("there is no recording below {}", path.display()));
            }
        } else if path.exists() {
            found.push(path);
        } else {
            let runs = environment.agent_directory.join("runs");
            found.push(find_run(&runs, word).map_err(|error| error.to_string())?);
        }
    }
    Ok(found)
}

/// Adds the directories with recordings, in the order of their names.
fn find(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if directory.join(RECORDING_FILE).is_file() {
        found.push(directory.to_owned());
        return;
    }
    let Ok(entries) = directory.read_dir() else { return };
    let mut inner: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    inner.sort();
    if depth > 0 {
        inner.iter().for_each(|path| find(path, depth - 1, found));
    }
}

async fn replay(
    recording: &Path,
    environment: &Environment,
    directory: Option<&Path>,
    plan: &ReplayPlan,
) -> Result<ReplayReport, String> {
    let recording = Recording::read(recording).map_err(|error| error.to_string())?;
    let recorded = &recording.header().cwd;
    let cwd = match directory {
        Some(directory) => directory.to_owned(),
        None if recorded.is_dir() => recorded.clone(),
        None => environment.cwd.clone(),
    };
    let environment = Environment { cwd, ..environment.clone() };
    let mut agent = setup::options(&Arguments::default(), environment);
    agent.ui = Arc::new(NoUi);
    agent.mode = RunMode::Print;
    agent.tools.selection.background = recording.header().background;
    agent.extensions.open = extensions::opener_with(agent.clone());
    if plan.live_from.is_none() {
        // A model is selected only if it has a key; the replay sends no request.
        agent.model.api_key = Some(SecretString::from("no-request-of-a-replay-needs-a-key"));
    }
    let mut options = RunOptions::new(agent);
    options.version = env!("CARGO_PKG_VERSION").to_owned();
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let replayed = Box::pin(pi_converge::replay(&recording, options, scratch.path(), plan)).await;
    replayed.map_err(|error| error.to_string())
}

/// The results of all replays.
#[derive(Default)]
struct Summary {
    different: usize,
    unusable: usize,
}

impl Summary {
    /// Counts and prints a result.
    fn add(
        &mut self,
        recording: &Path,
        result: Result<ReplayReport, String>,
        as_json: bool,
    ) -> Result<(), ExitCode> {
        let shown = text::one_line(&recording.display().to_string());
        let text = match result {
            Ok(report) => {
                self.different += usize::from(report.divergence.is_some());
                match as_json {
                    true => serde_json::to_string(&report).unwrap_or_default(),
                    false => describe(&shown, &report),
                }
            }
            Err(error) => {
                self.unusable += 1;
                match as_json {
                    true => json!({ "recording": recording, "error": error }).to_string(),
                    false => {
                        note(&format!("unusable: {shown}: {error}"));
                        return Ok(());
                    }
                }
            }
        };
        match print(&format!("{text}\n")) {
            ExitCode::SUCCESS => Ok(()),
            exit => Err(exit),
        }
    }

    fn finish(&self, count: usize, as_json: bool) -> ExitCode {
        let Self { different, unusable } = self;
        if count > 1 && !as_json {
            let identical = count - different - unusable;
            note(&format!("{identical} identical, {different} different, {unusable} unusable"));
        }
        match (unusable, different) {
            (0, 0) => Exit::Completed.into(),
            (0, _) => Exit::Failed.into(),
            _ => Exit::Usage.into(),
        }
    }
}

fn describe(recording: &str, report: &ReplayReport) -> String {
    match &report.divergence {
        Some(divergence) => format!("different: {recording}\n{divergence}"),
        None => {
            let (steps, outcome) = (report.steps, &report.outcome);
            let cut = if report.is_cut { ", not compared after its interruption" } else { "" };
            let requests = if steps == 1 { "request" } else { "requests" };
            format!("identical: {recording} ({steps} {requests}, {outcome}{cut})")
        }
    }
}
