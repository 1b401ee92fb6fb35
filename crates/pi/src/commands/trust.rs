//! `pi trust`: lists and changes the decisions about projects in `trust.json`.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use pi_base::text::one_line;
use pi_coding_agent::{Environment, Project};
use pi_config::{TrustEntry, TrustStore, files_that_need_trust};
use serde_json::{Value, json};

use super::{CommandResult, Failure, project, success};
use crate::environment;
use crate::exit::{hint, note, print};
use crate::flags::parse::CommandArgs;

pub(super) fn list(args: &CommandArgs) -> CommandResult {
    let environment = environment::read().map_err(Failure::failed)?;
    let entries = TrustStore::new(&environment.agent_directory).list()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = entries.iter().map(|entry| to_json(entry, &environment)).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(success());
    }
    for entry in &entries {
        let decision = if entry.trusted { "trusted    " } else { "not trusted" };
        let path = one_line(&entry.path.to_string_lossy());
        writeln!(out, "{decision}  {path}: {}", brings(&entry.path, &environment))?;
    }
    out.flush()?;
    if entries.is_empty() {
        note("no decisions about projects are stored; add one with `pi trust add`");
    }
    let undecided = TrustStore::new(&environment.agent_directory).find(&environment.cwd)?.is_none();
    let files = files_that_need_trust(&environment.cwd, environment.home.as_deref());
    if undecided && !files.is_empty() {
        note(&format!("no decision about this project is stored; it brings {}", names(&files)));
        hint("review these files, then run `pi trust add`");
    }
    Ok(success())
}

pub(super) fn add(args: &CommandArgs) -> CommandResult {
    let (environment, directory) = directory(args)?;
    if !directory.is_dir() {
        let problem = format!("{} is not a directory", directory.display());
        return Err(Failure::failed(problem));
    }
    let store = TrustStore::new(&environment.agent_directory);
    store.record(&directory, Some(true))?;
    report(args, &environment, &directory, "trusted")
}

pub(super) fn remove(args: &CommandArgs) -> CommandResult {
    let (environment, directory) = directory(args)?;
    let store = TrustStore::new(&environment.agent_directory);
    let is_stored = |entry: &TrustEntry| same(&entry.path, &directory);
    if !store.list()?.iter().any(is_stored) {
        let message = format!("no decision about {} is stored", directory.display());
        let failure = Failure::failed(message);
        return Err(match store.find(&directory)? {
            Some(TrustEntry { path, .. }) => failure
                .hint(format!("that of {0} applies; see `pi trust remove {0}`", path.display())),
            None => failure.hint("list the decisions with `pi trust list`"),
        });
    }
    store.record(&directory, None)?;
    report(args, &environment, &directory, "removed the decision about")
}

/// Returns the directory that the command line names; the working directory without one.
fn directory(args: &CommandArgs) -> Result<(Environment, PathBuf), Failure> {
    let environment = environment::read().map_err(Failure::failed)?;
    let named = args.word(0).map(|word| environment.expand(word, &environment.cwd));
    let directory = named.unwrap_or_else(|| environment.cwd.clone());
    Ok((environment, directory.canonicalize().unwrap_or(directory)))
}

/// A directory that does not exist any more cannot be made canonical, as the stored one was.
fn same(stored: &Path, directory: &Path) -> bool {
    stored == directory || stored.canonicalize().is_ok_and(|stored| stored == directory)
}

/// Prints what was done, and the effect on the next run in the directory.
fn report(
    args: &CommandArgs,
    environment: &Environment,
    directory: &Path,
    done: &str,
) -> CommandResult {
    let project = Project::open(Environment { cwd: directory.to_owned(), ..environment.clone() });
    project::report(&project);
    let entry = TrustEntry::new(directory, project.is_trusted());
    if args.has("json") {
        return Ok(print(&format!("{}\n", to_json(&entry, environment))));
    }
    let files = files_that_need_trust(directory, environment.home.as_deref());
    let path = one_line(&directory.to_string_lossy());
    let effect = match (files.is_empty(), entry.trusted) {
        (true, _) => "it has no files that need trust".to_owned(),
        (false, true) => format!("runs there use {}", names(&files)),
        (false, false) => format!("runs there ignore {}", names(&files)),
    };
    Ok(print(&format!("{done} {path}: {effect}\n")))
}

fn to_json(entry: &TrustEntry, environment: &Environment) -> Value {
    json!({
        "path": entry.path,
        "trusted": entry.trusted,
        "exists": entry.path.is_dir(),
        "files": files_that_need_trust(&entry.path, environment.home.as_deref()),
    })
}

/// Describes the files of a project that need trust.
fn brings(directory: &Path, environment: &Environment) -> String {
    if !directory.is_dir() {
        return "does not exist".to_owned();
    }
    match files_that_need_trust(directory, environment.home.as_deref()).as_slice() {
        [] => "no files that need trust".to_owned(),
        files => names(files),
    }
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| one_line(&file.to_string_lossy())).collect();
    names.join(", ")
}
